import type { SqlPool } from '../pool.ts'

/** A request to delete messages, which another person approves. */
export interface DeletionRequest {
  readonly id: string
  readonly verb: 'delete' | 'fix'
  readonly consumer: string
  readonly rows: number
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

const approvals = `
  select a.id::text, a.verb, c.name as consumer, cardinality(a.held_ids) as rows, a.held_ids::text[] as ids,
    encode(a.digest, 'hex') as digest, a.reason as because, a.requested_by as "requestedBy", a.requested_at as "requestedAt",
    a.expires_at as "expiresAt", a.approved_by as "approvedBy", a.executed_by as "executedBy",
    d.declined_by as "declinedBy", d.reason as "declinedBecause",
    case when d.approval_id is not null then 'declined' when a.executed_at is not null then 'executed' when a.verb = 'fix' and a.approved_at is not null then 'approved' when clock_timestamp() > a.expires_at then 'expired'
      when a.approved_at is not null then 'approved' else 'requested' end as state
  from onceward.approval a join onceward.consumer c on c.id = a.consumer_id
  left join onceward.declined d on d.approval_id = a.id`

/** The newest come first. */
export async function readApprovals(pool: SqlPool, countMax: number): Promise<readonly DeletionRequest[]> {
  return (await pool.query(`${approvals} order by a.id desc limit $1`, [countMax])).rows
}

export async function readApproval(pool: SqlPool, id: string): Promise<DeletionRequest> {
  return (await pool.query(`${approvals} where a.id = $1`, [id])).rows[0]
}
