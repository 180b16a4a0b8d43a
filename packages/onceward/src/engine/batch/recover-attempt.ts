import { errorCode, errorText, OncewardError } from '../../errors.ts'
import type { Received } from '../../message/received.ts'
import type { Subscription } from '../../ports/source.ts'
import type { ConsumerContext } from '../consumer-context.ts'
import { DecidedHalt } from '../retry/halt-cause.ts'
import { type BatchAttempt, blamesMessages, firstRound, halves } from './batch-attempt.ts'
import { factOfError, RoundFailed } from './handler-result.ts'
import { fencedPartitions } from './log-fence.ts'
import { lostLeases } from './stored-mode.ts'

const namedRoundsMax = 8
const contentionRoundsMax = 30
const movesMax = 5
/** Onceward errors about the state of the store: they may pass. */
export const ofStore: readonly string[] = ['commit_not_confirmed', 'wrong_server']

/** The store cannot be used at the moment; the batch is unharmed and may run again later. */
export class StorePaused extends Error {
  readonly trouble: 'unavailable' | 'lock wait'
  constructor(trouble: 'unavailable' | 'lock wait', cause: unknown) {
    super(errorText(cause), { cause })
    this.trouble = trouble
  }
}

/**
 * What to run after a rollback: the same messages, fewer of them, or halves. A message that is named as the
 * cause costs one more round without it; a batch without a named cause is halved. Measured with 1 % failures
 * in batches of 500: one message at a time 1.3 k/s, halving 5.5 k/s, rounds without the named messages 35
 * k/s. Rejects with `StorePaused` if the batch must wait for the store, and with the error if the consumer
 * must halt.
 */
export async function recoverAttempt<M, Tx>(
  error: unknown,
  attempt: BatchAttempt<M, Tx>,
): Promise<readonly BatchAttempt<M, Tx>[]> {
  if (error instanceof RoundFailed) return withoutCulprits(error, attempt)
  if (error instanceof OncewardError && !ofStore.includes(error.code)) return afterFence(error, attempt)
  const { store, env, consumer } = attempt.context
  const trouble = store.diagnose(error)
  const reason = error instanceof OncewardError ? 'not confirmed' : trouble
  env.metrics.add('commitFailures', 1, { consumer: consumer.name, reason })
  const blames = blamesMessages(attempt)
  switch (trouble) {
    case 'contention':
      if (blames) return blame(error, attempt)
      if (attempt.round >= contentionRoundsMax) throw new StorePaused('lock wait', error)
      await contentionPause(attempt)
      return nextRound(attempt)
    case 'lock wait':
    case 'unavailable':
      if (blames) return blame(error, attempt)
      throw new StorePaused(trouble, error)
    case 'configuration':
      throw new DecidedHalt(refusalText(error, attempt.context), { cause: error })
    default:
      return blame(error, attempt)
  }
}

function nextRound<M, Tx>(attempt: BatchAttempt<M, Tx>): readonly BatchAttempt<M, Tx>[] {
  return [{ ...attempt, round: attempt.round + 1 }]
}

function withoutCulprits<M, Tx>(
  { culprits, cause }: RoundFailed,
  attempt: BatchAttempt<M, Tx>,
): readonly BatchAttempt<M, Tx>[] {
  for (const [received, fact] of culprits) attempt.known.set(received, fact)
  if (culprits.size > 0 && attempt.round < namedRoundsMax) return nextRound(attempt)
  if (attempt.batch.length > 1) return halves(attempt)
  if (culprits.size > 0) return nextRound(attempt)
  throw cause
}

/**
 * The error names no message, like one raised at COMMIT. A message that is alone in its batch is the cause,
 * unless the batch also fails without its handler.
 */
function blame<M, Tx>(error: unknown, attempt: BatchAttempt<M, Tx>): readonly BatchAttempt<M, Tx>[] {
  const { batch, known, context } = attempt
  if (batch.length > 1) return halves(attempt)
  const [received] = batch
  if (!received!.readable || known.has(received!))
    throw new OncewardError('consumer_halted', refusalText(error, context), { cause: error })
  known.set(received!, factOfError(error instanceof OncewardError ? (error.cause ?? error) : error, context))
  return nextRound(attempt)
}

/**
 * A fence stopped the commit: messages that belong to another owner leave the batch. Other errors halt the
 * consumer.
 */
function afterFence<M, Tx>(
  error: OncewardError,
  attempt: BatchAttempt<M, Tx>,
): readonly BatchAttempt<M, Tx>[] {
  const { batch, context, history } = attempt
  const rows = lostLeases(error)
  if (rows !== null) {
    const [taken, ours] = partition(batch, ({ delivery }) => rows.includes(delivery.held!.row))
    context.subscription.leases?.drop(taken.map(({ delivery }) => delivery))
    return [firstRound(attempt, ours)]
  }
  const lost = fencedPartitions(error, 'ownership_lost')
  if (lost !== null) return [firstRound(attempt, disown(lost, batch, context.subscription))]
  if (fencedPartitions(error, 'position_moved') === null || history.moves++ >= movesMax) throw error
  // An attempt of ours committed after all, perhaps only now: its COMMIT may reach the server after its
  // connection was abandoned.
  history.mayHaveCommitted = true
  return [firstRound(attempt, batch)]
}

/**
 * Deliveries from before a partition was lost and assigned again explain the fence. Without such deliveries,
 * the partitions have another owner.
 */
function disown<M>(
  lost: readonly string[],
  batch: readonly Received<M>[],
  subscription: Subscription,
): readonly Received<M>[] {
  const [theirs, ours] = partition(batch, ({ delivery }) => lost.includes(delivery.partition))
  if (theirs.some(({ delivery }) => !subscription.isLive(delivery))) return batch
  subscription.log?.disown(lost)
  return ours
}

function partition<T>(all: readonly T[], matches: (one: T) => boolean): [T[], T[]] {
  return [all.filter(matches), all.filter(one => !matches(one))]
}

function refusalText<M, Tx>(error: unknown, { consumer }: ConsumerContext<M, Tx>): string {
  return `Consumer ${consumer.name} halted: the store refused a statement (${errorCode(error)}): ${errorText(error)}\nNothing was settled and nothing is lost. Check the role's rights, your tables and the schema version with "onceward status".`
}

function contentionPause<M, Tx>({ round, context }: BatchAttempt<M, Tx>): Promise<void> {
  const { env } = context
  const delayMs = Math.floor(env.random() * Math.min(200, 5 * 2 ** round))
  return new Promise(resolve => void env.timers.after(delayMs, resolve))
}
