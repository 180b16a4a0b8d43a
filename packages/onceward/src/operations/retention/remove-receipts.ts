import type { Reach } from '../../crash-points.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import type { Cutoff } from '../../drivers/postgres/retention/read-cutoffs.ts'
import {
  archiveReceiptDay,
  makeReceiptDays,
  readReceiptDays,
  removeReceiptDay,
} from '../../drivers/postgres/retention/receipt-days.ts'
import type { ArchiveFile } from './archive-file.ts'
import type { DroppedDays } from './drop-days.ts'

export interface RemoveReceiptsOptions {
  readonly pool: SqlPool
  readonly consumerId: number
  readonly reach: Reach
  readonly signal: AbortSignal | undefined
  /** Null when the contract deletes. */
  readonly archive: ArchiveFile | null
}

/**
 * Removes the receipts of a consumer by whole days before the cutoff, and creates the tables of the days
 * ahead. A day is archived first; one that grew meanwhile stays for the next pass.
 */
export async function removeReceipts(
  { kind, cutoff }: Cutoff,
  { pool, consumerId, reach, signal, archive }: RemoveReceiptsOptions,
): Promise<DroppedDays> {
  const putOff = (await makeReceiptDays(pool))
    ? []
    : ['days of receipts ahead are blocked by another transaction']
  let removed = 0
  const end = (ended: DroppedDays['ended']): DroppedDays => ({
    removed,
    walked: [],
    putOff: putOff.length === 0 ? null : putOff.join('; '),
    ended,
  })
  try {
    for (const day of await readReceiptDays(pool, consumerId, cutoff)) {
      if (signal?.aborted) return end('stopped')
      const one = { kind, consumerId, day, cutoff }
      const archived = archive === null ? null : await archiveReceiptDay(pool, one, archive)
      if (archived !== null) reach('receipts.archived')
      const answer = await removeReceiptDay(pool, one, archived, reach)
      if (answer.did === 'nothing') return end('another process is removing')
      if (answer.did === 'waits') putOff.push(`receipts of ${day} are in use by another transaction`)
      else removed += answer.removed
      reach('receipts.gone')
    }
    return end(null)
  } finally {
    await archive?.close()
  }
}
