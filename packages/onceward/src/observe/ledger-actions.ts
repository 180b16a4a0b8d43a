import { OncewardError } from '../errors.ts'
import type { SqlPool } from '../stores/postgres/pool.ts'
import { type LedgerDetail, showLedger } from './ledger.ts'

export interface LedgerOrder {
  readonly id: string
  /** Typed again by the person, so that no slip moves another consumer's effect. */
  readonly consumer: string
  readonly because: string
}

/** What a person found out: it took effect, or it did not. */
export type Finding = 'completed' | 'not done'

const act = 'select onceward.act_on_effect($1, $2, $3, $4::onceward.effect_state, $5) as done'

/** Ends the doubt: `completed`, or `failed`, which means that it did not happen and may be tried again. */
export async function reconcileEffect(
  pool: SqlPool,
  order: LedgerOrder,
  finding: Finding,
): Promise<LedgerDetail> {
  const row = await waitingRow(pool, order)
  if (row.state === 'failed' && finding === 'not done')
    return refuse(`Effect ${order.id} is failed already: it did not happen.`)
  return change(pool, order, row, ['reconcile', finding === 'completed' ? 'completed' : 'failed'])
}

/**
 * Makes it due now, with as many attempts as the target allows. One that may have happened stays in doubt, so its target's policy
 * still decides: what is declared at most once, or past its key's life, is not sent but set aside again.
 */
export async function retryEffect(pool: SqlPool, order: LedgerOrder): Promise<LedgerDetail> {
  return change(pool, order, await waitingRow(pool, order), ['retry', null])
}

async function waitingRow(pool: SqlPool, { id, consumer, because }: LedgerOrder): Promise<LedgerDetail> {
  const row = await showLedger(pool, id)
  if (row.consumer !== consumer) return refuse(`Effect ${id} is not of consumer "${consumer}".`)
  if (because.trim() === '') return refuse('Say why.')
  if (!row.waitsForPeople)
    return refuse(
      `Effect ${id} is ${row.state}: ${row.state === 'completed' ? 'it has happened' : 'a dispatcher still works on it'}.`,
    )
  return row
}

/** The rules are the database's: only what waits for people, as it was shown, and never without its record. */
async function change(
  pool: SqlPool,
  { id, because }: LedgerOrder,
  { epoch }: LedgerDetail,
  [action, finding]: readonly ['reconcile', 'completed' | 'failed'] | readonly ['retry', null],
): Promise<LedgerDetail> {
  const { rows } = await pool.query(act, [id, epoch, action, finding, because])
  if (rows[0].done) return showLedger(pool, id)
  return refuse(`Effect ${id} was changed by somebody else a moment ago.`)
}

function refuse(why: string): never {
  throw new OncewardError('usage', `${why} Nothing was changed; see "onceward ledger show".`)
}
