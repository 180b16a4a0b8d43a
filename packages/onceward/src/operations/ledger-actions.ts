import { acts } from '../drivers/postgres/acts.ts'
import type { SqlPool } from '../drivers/postgres/pool.ts'
import { type LedgerDetail, showLedger } from '../telemetry/ledger.ts'
import { act } from './parking/act.ts'

export interface LedgerOrder {
  readonly id: string
  /** Typed again by the person, so that no slip moves another consumer's effect. */
  readonly consumer: string
  readonly because: string
}

/** What a person found out: it took effect, or it did not. */
export type EffectResolution = 'completed' | 'not done'

/** Ends the doubt: `completed`, or `failed`, which means that it did not happen and may be tried again. */
export async function reconcileEffect(
  pool: SqlPool,
  order: LedgerOrder,
  finding: EffectResolution,
): Promise<LedgerDetail> {
  return change(pool, order, ['reconcile', finding === 'completed' ? 'completed' : 'failed'])
}

/**
 * Makes it due now, with as many attempts as the target allows. One that may have happened stays in doubt, so
 * its target's policy still decides: what is declared at most once, or past its key's life, is not sent but
 * set aside again.
 */
export async function retryEffect(pool: SqlPool, order: LedgerOrder): Promise<LedgerDetail> {
  return change(pool, order, ['retry', null])
}

/**
 * The rules are the database's: only what waits for people, as it was shown, and never without its record;
 * refusals have theirs too.
 */
async function change(
  pool: SqlPool,
  { id, consumer, because }: LedgerOrder,
  [action, finding]: readonly ['reconcile', 'completed' | 'failed'] | readonly ['retry', null],
): Promise<LedgerDetail> {
  const { epoch } = await showLedger(pool, id)
  await act(
    pool,
    acts.actOnEffect,
    [id, consumer, epoch, action, finding, because],
    undefined,
    'onceward ledger show',
  )
  return showLedger(pool, id)
}
