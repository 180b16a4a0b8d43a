import { inert } from '../../crash-points.ts'
import { acts } from '../../drivers/postgres/acts.ts'
import { assertUsable } from '../../drivers/postgres/assert-usable.ts'
import {
  type ApprovalFilter,
  type DeletionRequest,
  readApproval,
  readApprovals,
} from '../../drivers/postgres/parking/read-approvals.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { type ActOptions, act } from '../act.ts'
import type { Selected } from './skip-parked.ts'

/** Newest first. */
export async function listApprovals(
  pool: SqlPool,
  filter: ApprovalFilter,
): Promise<readonly DeletionRequest[]> {
  await assertUsable(pool)
  return readApprovals(pool, filter)
}

/** One request with all of its row ids; null if there is no such request. */
export async function findApproval(pool: SqlPool, id: string): Promise<DeletionRequest | null> {
  await assertUsable(pool)
  return (await readApproval(pool, id)) ?? null
}

async function decided(pool: SqlPool, id: string): Promise<DeletionRequest> {
  return (await readApproval(pool, id))!
}

/** Requests approval by a second person. The request covers exactly these rows in their current state. */
export async function requestDeletion(
  pool: SqlPool,
  { consumer, ids, digest, because }: Selected,
  lastsSeconds: number,
): Promise<DeletionRequest> {
  const { approval } = await act<{ approval: string }>(pool, acts.requestDeletion, [
    consumer,
    ids,
    digest,
    because,
    lastsSeconds,
  ])
  return decided(pool, String(approval))
}

/** By a person other than the requester. `digest`: of the request; of a fix, SHA-256 of the new bytes. */
export async function approveRequest(
  pool: SqlPool,
  id: string,
  digest: string,
  because: string,
): Promise<DeletionRequest> {
  await act(pool, acts.approve, [id, digest, because])
  return decided(pool, id)
}

/** By a second person, or by the requester. The request can never be approved after that. */
export async function declineRequest(pool: SqlPool, id: string, because: string): Promise<DeletionRequest> {
  await act(pool, acts.decline, [id, because])
  return decided(pool, id)
}

/** Erases the bytes of an approved request. Id, identity and digest stay, here and in the audit. */
export function deleteParked(
  pool: SqlPool,
  { id, consumer }: { readonly id: string; readonly consumer: string },
  options: ActOptions = {},
): Promise<{ readonly closed: number; readonly freed: number }> {
  return act(pool, acts.deleteParked, [id, consumer], () => (options.reach ?? inert)('parking.deleted'))
}
