import { errorCode, errorText, OncewardError } from '../../errors.ts'
import type { Received } from '../../message/received.ts'
import { DecidedHalt } from '../retry/halt-cause.ts'
import { type Decided, type KnownFacts, processBatch, type Spine } from './commit-batch.ts'
import { decideOutcome, noAttempts } from './decide-outcome.ts'
import { factOfError, RoundFailed } from './handler-result.ts'

const namedRoundsMax = 8
const contentionRoundsMax = 30
/** Errors of ours that say how the store is: it may pass. */
export const ofStore: readonly string[] = ['commit_not_confirmed', 'wrong_server']

/** The store cannot be used just now; the batch is unharmed and may be run again later. */
export class StorePaused extends Error {
  readonly trouble: 'unavailable' | 'lock wait'
  constructor(trouble: 'unavailable' | 'lock wait', cause: unknown) {
    super(errorText(cause), { cause })
    this.trouble = trouble
  }
}

/** After a rolled-back round: go on with another round, split the batch, or give the trouble to the caller. */
export async function recoverRound<M, Tx>(
  error: unknown,
  round: number,
  batch: readonly Received<M>[],
  known: KnownFacts,
  spine: Spine<M, Tx>,
): Promise<'again' | 'split'> {
  if (error instanceof RoundFailed) {
    for (const [received, fact] of error.culprits) known.set(received, fact)
    if (error.culprits.size > 0 && round < namedRoundsMax) return 'again'
    if (batch.length > 1) return 'split'
    if (error.culprits.size > 0) return 'again'
    throw error.cause
  }
  if (error instanceof OncewardError && !ofStore.includes(error.code)) throw error
  const trouble = spine.store.diagnose(error)
  const reason = error instanceof OncewardError ? 'not confirmed' : trouble
  spine.world.metrics.add('commitFailures', 1, { consumer: spine.consumer.name, reason })
  const blamable = spine.suspicious && batch.some(received => received.readable && !known.has(received))
  switch (trouble) {
    case 'contention':
      if (round < contentionRoundsMax && !blamable) {
        await pause(spine, Math.floor(spine.world.random() * Math.min(200, 5 * 2 ** round)))
        return 'again'
      }
      if (blamable) return blame(error, batch, known, spine)
      throw new StorePaused('lock wait', error)
    case 'lock wait':
    case 'unavailable':
      if (blamable) return blame(error, batch, known, spine)
      throw new StorePaused(trouble, error)
    case 'configuration':
      throw new DecidedHalt(refusalText(error, spine), { cause: error })
    default:
      return blame(error, batch, known, spine)
  }
}

/** Nobody was named, as by a constraint checked at COMMIT: alone in its batch, a message is to blame, unless it fails without its handler. */
function blame<M, Tx>(
  error: unknown,
  batch: readonly Received<M>[],
  known: KnownFacts,
  spine: Spine<M, Tx>,
): 'again' | 'split' {
  if (batch.length > 1) return 'split'
  const [received] = batch
  if (!received!.readable || known.has(received!))
    throw new OncewardError('consumer_halted', refusalText(error, spine), { cause: error })
  known.set(received!, factOfError(error instanceof OncewardError ? (error.cause ?? error) : error, spine))
  return 'again'
}

function refusalText<M, Tx>(error: unknown, { consumer }: Spine<M, Tx>): string {
  return `Consumer ${consumer.name} halted: the store refused a statement (${errorCode(error)}): ${errorText(error)}\nNothing was settled and nothing is lost. Check the role's rights, your tables and the schema version with "onceward status".`
}

/** Halves, left before right, so that order holds; a lane stuck on the left does not move on the right. */
export async function splitBatch<M, Tx>(
  batch: readonly Received<M>[],
  spine: Spine<M, Tx>,
): Promise<readonly Decided<M>[]> {
  const middle = Math.ceil(batch.length / 2)
  const left = await processBatch(batch.slice(0, middle), spine)
  const stuck = new Map<string, number>()
  for (const { received, decision } of left) {
    if (decision.outcome === 'retry') stuck.set(laneOf(received), decision.retryDelayMs)
  }
  const free = (received: Received<M>) => !stuck.has(laneOf(received))
  const rest = batch.slice(middle)
  const right = await processBatch(rest.filter(free), spine)
  const behind = rest
    .filter(received => !free(received))
    .map(received => ({
      received,
      decision: decideOutcome(
        { kind: 'behind', leader: 'retry', delayMs: stuck.get(laneOf(received))! },
        noAttempts,
        spine.consumer.failure,
      ),
    }))
  return [...left, ...right, ...behind]
}

/** Unordered messages share nothing but their id: a repeat must not overtake its first. */
function laneOf(received: Received): string {
  return received.lane ?? `id:${received.id}`
}

function pause<M, Tx>(spine: Spine<M, Tx>, delayMs: number): Promise<void> {
  return new Promise(resolve => spine.world.timers.after(delayMs, resolve))
}
