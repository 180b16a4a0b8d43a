import type { SqlPool } from '../pool.ts'

/** A request to delete messages, which another person approves. */
export interface DeletionRequest {
  readonly id: string
  readonly verb: 'delete' | 'fix'
  readonly consumer: string
  readonly rows: number
  /** The first of its rows, if a reader asked for fewer. */
  readonly ids: readonly string[]
  readonly digest: string
  readonly because: string
  readonly requestedBy: string
  readonly requestedAt: Date
  readonly expiresAt: Date
  readonly approvedBy: string | null
  readonly executedBy: string | null
  readonly declinedBy: string | null
  readonly declinedBecause: string | null
  readonly state: 'requested' | 'approved' | 'executed' | 'declined' | 'expired'
}

/** Which requests to list. */
export interface ApprovalFilter {
  /** Only of these consumers. */
  readonly consumers?: readonly string[] | undefined
  readonly states?: readonly DeletionRequest['state'][] | undefined
  /** Maximum number of row ids for each request; all by default. */
  readonly idsMax?: number | undefined
  readonly countMax: number
}

const stateOf = `case when d.approval_id is not null then 'declined' when a.executed_at is not null then 'executed'
  when a.verb = 'fix' and a.approved_at is not null then 'approved' when clock_timestamp() > a.expires_at then 'expired'
  when a.approved_at is not null then 'approved' else 'requested' end`
const tables = `onceward.approval a join onceward.consumer c on c.id = a.consumer_id
  left join onceward.declined d on d.approval_id = a.id`

const approvals = (ids: string) => `
  select a.id::text, a.verb, c.name as consumer, cardinality(a.held_ids) as rows, ${ids}::text[] as ids,
    encode(a.digest, 'hex') as digest, a.reason as because, a.requested_by as "requestedBy", a.requested_at as "requestedAt",
    a.expires_at as "expiresAt", a.approved_by as "approvedBy", a.executed_by as "executedBy",
    d.declined_by as "declinedBy", d.reason as "declinedBecause",
    ${stateOf} as state
  from ${tables}`

/** The newest come first. */
export async function readApprovals(
  pool: SqlPool,
  { consumers, states, idsMax, countMax }: ApprovalFilter,
): Promise<readonly DeletionRequest[]> {
  const { rows } = await pool.query(
    `${approvals('a.held_ids[1:coalesce($4, 2147483647)]')}
     where ($2::text[] is null or c.name = any ($2)) and ($3::text[] is null or ${stateOf} = any ($3))
     order by a.id desc limit $1`,
    [countMax, consumers ?? null, states ?? null, idsMax ?? null],
  )
  return rows
}

/** Undefined when there is no such request. */
export async function readApproval(pool: SqlPool, id: string): Promise<DeletionRequest | undefined> {
  return (await pool.query(`${approvals('a.held_ids')} where a.id = $1`, [id])).rows[0]
}

/** Requests of one kind at one consumer that no second person has decided. */
export interface WaitingRequests {
  readonly consumer: string
  readonly kind: 'deletion' | 'fix' | 'campaign'
  readonly count: number
}

/** Counted, so that no limit hides one. A plan whose approval has expired waits again. */
export async function readWaitingRequests(pool: SqlPool): Promise<readonly WaitingRequests[]> {
  const { rows } = await pool.query(`
    select c.name as consumer, case a.verb when 'fix' then 'fix' else 'deletion' end as kind, count(*)::integer
    from ${tables}
    where a.approved_at is null and a.executed_at is null and ${stateOf} = 'requested' group by 1, 2
    union all
    select c.consumer_name, 'campaign', count(*)::integer from onceward.campaign c
    where c.needs_approval and c.state in ('previewed', 'paused', 'failed') and not exists (
      select from onceward.campaign_approval a where a.campaign_id = c.id and a.plan_digest = c.plan_digest
        and a.expires_at > clock_timestamp())
    group by 1 order by 1, 2`)
  return rows
}
