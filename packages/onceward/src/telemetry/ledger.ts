import { assertUsable } from '../drivers/postgres/assert-usable.ts'
import {
  type LedgerEntry,
  type LedgerFilter,
  type LedgerRecord,
  readLedgerEntry,
  readLedgerList,
} from '../drivers/postgres/ledger/read-ledger.ts'
import type { SqlPool } from '../drivers/postgres/pool.ts'
import { OncewardError } from '../errors.ts'
import { type MailHead, mailHead } from './mail-head.ts'

export type { LedgerEntry, LedgerFilter } from '../drivers/postgres/ledger/read-ledger.ts'

export const ledgerStates = [
  'pending',
  'in flight',
  'retryable',
  'unknown',
  'reconciling',
  'completed',
  'failed',
]

/** External effects that match a filter; oldest first. */
export async function listLedger(pool: SqlPool, filter: LedgerFilter = {}): Promise<readonly LedgerEntry[]> {
  await assertUsable(pool)
  return readLedgerList(pool, filter)
}

/** One external effect with its attempts and acts; of an e-mail, also who receives it and its subject. */
export interface LedgerDetail extends Omit<LedgerRecord, 'mailBody'> {
  readonly mail: MailHead | null
}

/** One external effect with its attempts and acts. */
export async function showLedger(pool: SqlPool, id: string): Promise<LedgerDetail> {
  await assertUsable(pool)
  const entry = await readLedgerEntry(pool, id)
  if (entry === null)
    throw new OncewardError('usage', `There is no external effect ${id}. See "onceward ledger list".`)
  const { mailBody, ...facts } = entry
  return { ...facts, mail: mailBody === null ? null : mailHead(mailBody) }
}
