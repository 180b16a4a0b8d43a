import { inert } from '../../crash-points.ts'
import { assertUsable } from '../../drivers/postgres/migrate.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { type ActOptions, act } from './act.ts'
import type { Selected } from './decide-parked.ts'

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
  readonly state: 'requested' | 'approved' | 'executed' | 'expired'
}

const approvals = `
  select a.id::text, a.verb, c.name as consumer, cardinality(a.held_ids) as rows, a.held_ids::text[] as ids,
    encode(a.digest, 'hex') as digest, a.reason as because, a.requested_by as "requestedBy", a.requested_at as "requestedAt",
    a.expires_at as "expiresAt", a.approved_by as "approvedBy", a.executed_by as "executedBy",
    case when a.executed_at is not null then 'executed' when a.verb = 'fix' and a.approved_at is not null then 'approved' when clock_timestamp() > a.expires_at then 'expired'
      when a.approved_at is not null then 'approved' else 'requested' end as state
  from onceward.approval a join onceward.consumer c on c.id = a.consumer_id`

/** The newest first. */
export async function listApprovals(pool: SqlPool, countMax: number): Promise<readonly DeletionRequest[]> {
  await assertUsable(pool)
  return (await pool.query(`${approvals} order by a.id desc limit $1`, [countMax])).rows
}

/** Asks for a second person. The request holds exactly these rows as they are now, and for so long. */
export async function requestDeletion(
  pool: SqlPool,
  { consumer, ids, digest, because }: Selected,
  lastsSeconds: number,
): Promise<DeletionRequest> {
  const call = `onceward.request_deletion($1, $2::bigint[], decode($3, 'hex'), $4, $5)`
  const { approval } = await act<{ approval: string }>(pool, call, [
    consumer,
    ids,
    digest,
    because,
    lastsSeconds,
  ])
  return readApproval(pool, String(approval))
}

/** By somebody else than who asked. `digest`: of what they looked at; of a fix, SHA-256 of the new bytes. */
export async function approveRequest(
  pool: SqlPool,
  id: string,
  digest: string,
  because: string,
): Promise<DeletionRequest> {
  await act(pool, `onceward.approve($1::bigint, decode($2, 'hex'), $3)`, [id, digest, because])
  return readApproval(pool, id)
}

/** Erases the bytes of an approved request. Number, identity and digest stay, here and in the audit. */
export function deleteParked(
  pool: SqlPool,
  { id, consumer }: { readonly id: string; readonly consumer: string },
  options: ActOptions = {},
): Promise<{ readonly closed: number; readonly freed: number }> {
  return act(pool, 'onceward.delete_parked($1::bigint, $2)', [id, consumer], () =>
    (options.reach ?? inert)('parking.deleted'),
  )
}

async function readApproval(pool: SqlPool, id: string): Promise<DeletionRequest> {
  return (await pool.query(`${approvals} where a.id = $1`, [id])).rows[0]
}
