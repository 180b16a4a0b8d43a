import { acts } from '../drivers/postgres/acts.ts'
import type { SqlPool } from '../drivers/postgres/pool.ts'
import { type LedgerDetail, showLedger } from '../telemetry/ledger.ts'
import { act } from './parking/act.ts'

export interface LedgerOrder {
  readonly id: string
  /** Consumer name, as confirmation: a mistyped id cannot change another consumer's effect. */
  readonly consumer: string
  readonly because: string
}

/** Whether the effect happened, as an operator found out. */
export type EffectResolution = 'completed' | 'not done'

/** Records the real outcome: `completed`, or `failed`, which did not happen and may be tried again. */
export async function reconcileEffect(
  pool: SqlPool,
  order: LedgerOrder,
  finding: EffectResolution,
): Promise<LedgerDetail> {
  return change(pool, order, ['reconcile', finding === 'completed' ? 'completed' : 'failed'])
}

/**
 * Makes the effect due now, with as many attempts as the target allows. An effect with an unknown outcome
 * keeps it, so the target's policy still decides: an at-most-once effect, or one whose idempotency key has
 * expired, is not sent but set aside again.
 */
export async function retryEffect(pool: SqlPool, order: LedgerOrder): Promise<LedgerDetail> {
  return change(pool, order, ['retry', null])
}

/**
 * The database enforces the rules: the effect must need attention and be unchanged since it was read. It
 * records every act and every refusal.
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
