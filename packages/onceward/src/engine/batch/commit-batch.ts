import type { Received } from '../../message/received.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import { type ConsumerContext, firstTries } from '../consumer-context.ts'
import { applyEffects } from './apply-effects.ts'
import type { BatchAttempt, Decided } from './batch-attempt.ts'
import { claimBatch } from './claim-batch.ts'
import { concludeBatch } from './conclude-batch.ts'
import { passFence } from './log-fence.ts'
import { keepAll, startWork } from './stored-mode.ts'

/**
 * One round of a batch, in one transaction: insert markers, apply, conclude, commit. If it rejects, nothing
 * was committed, unless the answer to COMMIT was lost. The caller acknowledges, and only after this resolves.
 */
export async function commitBatch<M, Tx>(attempt: BatchAttempt<M, Tx>): Promise<readonly Decided<M>[]> {
  const { store, enrolment, stage, env, savepoints } = attempt.context
  let unlock = () => {}
  let claimed: ReadonlySet<Received<M>> = new Set()
  try {
    const decided = await store.transaction(enrolment, async session => {
      const claims =
        stage === 'work'
          ? await startWork(attempt.batch, session, attempt.context)
          : await claimBatch(attempt, session)
      claimed = claims.claimed
      env.reach('batch.claimed')
      attempt.context.redelivery.check(claims.fresh, claims.facts)
      unlock = await lockWrites(attempt, session)
      const facts =
        stage === 'enqueue' ? keepAll(attempt.batch, claims) : await applyEffects(attempt, claims, session)
      env.reach('batch.applied')
      await withdrawSuspects(attempt, session)
      const decided = await concludeBatch(attempt, claims, facts, session)
      env.reach('batch.concluded')
      session.campaign?.journal.decided(decided)
      await passFence(attempt, decided, claims.storedPositions, session)
      return decided
    })
    if (stage === 'work') env.reach('work.committed')
    else env.reach('batch.committed')
    savepoints.committed()
    countMarkers(claimed, decided, attempt.context)
    return decided
  } finally {
    unlock()
  }
}

/** The handlers returned: withdraws the attempts that were recorded before they ran. */
async function withdrawSuspects<M, Tx>(
  { batch, suspect }: BatchAttempt<M, Tx>,
  session: StoreSession<Tx>,
): Promise<void> {
  if (suspect !== null) await session.suspects!.withdrawAttempts(batch.map(({ id }) => id!))
}

/**
 * Batches of per-message handlers write one at a time, from apply to commit (see `writeLock`). A single
 * stored message locks rows in its handler's order and may be slow: other batches need not wait for it. Batch
 * handlers sort the rows they lock, but PostgreSQL may lock few and many rows by different plans. Deferred
 * messages are therefore applied while no other batch is.
 */
async function lockWrites<M, Tx>(
  { batch, context }: BatchAttempt<M, Tx>,
  session: StoreSession<Tx>,
): Promise<() => void> {
  const { consumer, stage, writeLock } = context
  if (stage === 'enqueue' || (stage === 'work' && batch.length === 1)) return () => {}
  const perMessage = consumer.handle !== undefined || consumer.effect?.apply?.after !== undefined
  if (!perMessage && firstTries(context))
    return consumer.failure.mode === 'defer' ? writeLock.shared() : () => {}
  const unlock = await writeLock.exclusive()
  try {
    await session.lockWrites?.(batch.length)
    return unlock
  } catch (error) {
    unlock()
    throw error
  }
}

/** A marker that is removed for a retry does not count. */
function countMarkers<M, Tx>(
  claimed: ReadonlySet<Received<M>>,
  decided: readonly Decided<M>[],
  { stage, consumer, env }: ConsumerContext<M, Tx>,
): void {
  if (stage === 'work' || claimed.size === 0) return
  let count = claimed.size
  for (const { received, decision } of decided)
    if ((decision.outcome === 'retry' || decision.outcome === 'rerouted') && claimed.has(received)) count--
  if (count > 0) env.metrics.add('inserts', count, { consumer: consumer.name })
}
