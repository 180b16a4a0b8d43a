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

/**
 * One statement: the change and its reason are written together, and only while the row is as it was shown. Of two people who act at
 * once the second waits for the first and then finds another epoch.
 */
const act = `
  with changed as (
    update onceward.ledger
    set state = $3::onceward.effect_state, epoch = epoch + 1,
      due_at = case when $4 then clock_timestamp() else 'infinity' end,
      attempts_forgiven = case when $4 then attempts else attempts_forgiven end,
      completed_at = case when $3 = 'completed' then clock_timestamp() end
    where id = $1 and epoch = $2 and state = $5::onceward.effect_state and due_at = 'infinity' and state <> 'completed'
    returning id
  )
  insert into onceward.ledger_action (ledger_id, action, reason, from_state, to_state)
  select id, $6, $7, $5::onceward.effect_state, $3::onceward.effect_state from changed`

/** Ends the doubt: `completed`, or `failed`, which means that it did not happen and may be tried again. */
export async function reconcileEffect(
  pool: SqlPool,
  order: LedgerOrder,
  finding: Finding,
): Promise<LedgerDetail> {
  const row = await waitingRow(pool, order)
  if (row.state === 'failed' && finding === 'not done')
    return refuse(`Effect ${order.id} is failed already: it did not happen.`)
  return change(pool, order, row, {
    action: 'reconcile',
    state: finding === 'completed' ? 'completed' : 'failed',
    due: false,
  })
}

/**
 * Makes it due now, with as many attempts as the target allows. One that may have happened stays in doubt, so its target's policy
 * still decides: what is declared at most once, or past its key's life, is not sent but set aside again.
 */
export async function retryEffect(pool: SqlPool, order: LedgerOrder): Promise<LedgerDetail> {
  const row = await waitingRow(pool, order)
  const state = row.state === 'failed' ? 'retryable' : 'unknown'
  return change(pool, order, row, { action: 'retry', state, due: true })
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

async function change(
  pool: SqlPool,
  { id, because }: LedgerOrder,
  { epoch, state: from }: LedgerDetail,
  { action, state, due }: { action: string; state: string; due: boolean },
): Promise<LedgerDetail> {
  const { rowCount } = await pool.query(act, [id, epoch, state, due, from, action, because])
  if (rowCount === 1) return showLedger(pool, id)
  return refuse(`Effect ${id} was changed by somebody else a moment ago.`)
}

function refuse(why: string): never {
  throw new OncewardError('usage', `${why} Nothing was changed; see "onceward ledger show".`)
}
