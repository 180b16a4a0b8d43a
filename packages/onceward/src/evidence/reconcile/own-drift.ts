import type { SqlPool } from '../../drivers/postgres/pool.ts'
import {
  type Compared,
  countLedgerDrift,
  countOwnDrift,
  endOfLedgerStretch,
  ownChecks,
  readLedgerDrift,
  readOwnDrift,
} from '../../drivers/postgres/reconcile/own-drift.ts'
import { walkIds } from '../../drivers/postgres/reconcile/walk-ids.ts'
import type { DriftBook } from './drift.ts'

export async function compareOwn(pool: SqlPool, compared: Compared, book: DriftBook): Promise<void> {
  for (const [table, column] of new Set(ownChecks.map(({ walked }) => walked))) {
    for await (const stretch of walkIds(pool, compared.consumerId, table, column)) {
      for (const check of ownChecks.filter(({ walked }) => walked[0] === table)) {
        const { kind } = check
        const count = await countOwnDrift(pool, check, compared, stretch)
        if (count > 0)
          book.add(kind, count, await readOwnDrift(pool, check, compared, stretch, book.room(kind)))
      }
    }
  }
}

/** External effects, by number: each was requested in the transaction of an applied message. */
export async function compareLedger(
  pool: SqlPool,
  consumer: string,
  compared: Compared,
  book: DriftBook,
): Promise<void> {
  const kind = 'external effect without marker'
  for (let after: string | null = '0'; after !== null; ) {
    const stretch: { consumer: string; after: string } = { consumer, after }
    const count = await countLedgerDrift(pool, kind, stretch, compared)
    const room = count === 0 ? 0 : book.room(kind)
    book.add(kind, count, await readLedgerDrift(pool, kind, stretch, compared, room))
    after = await endOfLedgerStretch(pool, kind, after)
  }
}
