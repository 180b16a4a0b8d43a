import {
  type LedgerDetail,
  type LedgerEntry,
  type LedgerFilter,
  readLedgerEntry,
  readLedgerList,
} from '../drivers/postgres/ledger/read-ledger.ts'
import { assertUsable } from '../drivers/postgres/migrate.ts'
import type { SqlPool } from '../drivers/postgres/pool.ts'
import { OncewardError } from '../errors.ts'

export type { LedgerDetail, LedgerEntry, LedgerFilter } from '../drivers/postgres/ledger/read-ledger.ts'

export const ledgerStates = [
  'pending',
  'in flight',
  'retryable',
  'unknown',
  'reconciling',
  'completed',
  'failed',
]

export async function listLedger(pool: SqlPool, filter: LedgerFilter = {}): Promise<readonly LedgerEntry[]> {
  await assertUsable(pool)
  return readLedgerList(pool, filter)
}

export async function showLedger(pool: SqlPool, id: string): Promise<LedgerDetail> {
  await assertUsable(pool)
  const entry = await readLedgerEntry(pool, id)
  if (entry === null)
    throw new OncewardError('usage', `There is no external effect ${id}. See "onceward ledger list".`)
  return entry
}
