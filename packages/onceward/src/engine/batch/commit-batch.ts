import type { Consumer } from '../../contract/define-consumer.ts'
import type { Mode } from '../../contract/handler.ts'
import type { WorkClaim } from '../../contracts/held-work.ts'
import type { Enrolment, Store } from '../../contracts/store.ts'
import type { Received } from '../../message/received.ts'
import type { Surroundings } from '../../surroundings.ts'
import type { SuspectTry } from '../crash-suspects/suspect-runner.ts'
import type { Breaker } from '../retry/breaker.ts'
import { applyEffects } from './apply-effects.ts'
import type { InlineCall } from './buffer-effects.ts'
import { claimBatch } from './claim-batch.ts'
import { concludeBatch } from './conclude-batch.ts'
import { partsByOrigin } from './held-origin.ts'
import type { HorizonCheck } from './horizon-guard.ts'
import type { HandOver } from './local-handoff.ts'
import { type LogSide, passFence } from './log-fence.ts'
import type { Decision, Fact } from './outcome.ts'
import { recoverRound, splitBatch } from './recover-attempt.ts'
import type { Care } from './savepoint-policy.ts'
import type { Turns } from './shared-lock.ts'
import { keepAll } from './stored-mode.ts'

/**
 * What the spine does with a batch. `whole`: claims and applies deliveries. `store`: claims and keeps them for later. `work`: applies what was
 * kept, under a lease.
 */
export type Stage = 'whole' | 'store' | 'work'

/** What one consumer's spine works with. */
export interface Spine<M = unknown, Tx = unknown> {
  readonly consumer: Consumer<M, Tx>
  readonly store: Store<Tx>
  readonly enrolment: Enrolment
  readonly mode: Mode
  /** External effects and messages are not asked for. */
  readonly suppresses: boolean
  /** Of a live worker: the campaign that held this batch, whose mode it is worked in. */
  readonly campaignId?: string
  readonly stage: Stage
  readonly world: Surroundings
  /** Aborted when the process must leave at once. */
  readonly signal: AbortSignal
  /**
   * From apply to commit, batches of per-message handlers take turns: two that write the same rows in different orders would
   * deadlock, and each deadlock costs a second (600 messages/s with 1,000 hot rows; with turns 5,500–8,100). Claiming overlaps.
   */
  readonly turns: Turns
  /**
   * The batch failed again and again although the store answered in between: somebody in it is the cause, so look for whom instead
   * of waiting for a better time.
   */
  readonly suspicious?: boolean
  /** A process may have died over the messages of the batch: nothing else is under way. */
  readonly suspect?: SuspectTry
  /** Of held work: calls back when a claim of the batch is lost; the result ends the watch. Null elsewhere. */
  readonly watchClaims: ((batch: readonly Received<M>[], onLost: (error: Error) => void) => () => void) | null
  /** Makes the calls of `effects.call`. */
  readonly callInline?: InlineCall
  /** Storing, with a worker beside: what it has room for goes to it at once. */
  readonly handOver?: HandOver
  /** Knows whether statements have failed lately. */
  readonly care: Care
  /** Knows whether the downstream is away. */
  readonly breaker: Breaker
  /** Notices messages older than the markers that are left. Absent where markers decide nothing, or nothing is applied twice. */
  readonly horizon?: HorizonCheck
  /** On logs whose position the store guards; null on queues. */
  readonly log: LogSide | null
  /** Called after every commit, before anything else can happen. */
  readonly onCommitted: (decided: readonly Decided<M>[]) => void
}

export interface Decided<M = unknown> {
  readonly received: Received<M>
  readonly decision: Decision
  /** Of what was stored: the claim of our own worker. */
  readonly claim?: WorkClaim
  /** Of what was stored: its business key is another's. */
  readonly keyless?: boolean
}

/** Facts found in an earlier, rolled-back round of the same batch: these messages' handlers do not run again. */
export type KnownFacts = Map<Received, Fact>

/**
 * The spine: claim, apply, conclude, commit. Settling is the caller's, because it may only happen after this
 * returns. A message that fails on a statement costs a rollback and one more round without it; a batch
 * whose culprit nobody can name is halved. One by one ran 1.3 k/s with 1 % failures in batches of 500,
 * halving 5.5 k/s, rounds without the named ones 35 k/s.
 */
export async function processBatch<M, Tx>(
  batch: readonly Received<M>[],
  spine: Spine<M, Tx>,
): Promise<readonly Decided<M>[]> {
  const parts = spine.stage === 'work' ? partsByOrigin(batch, spine) : null
  if (parts !== null) return processParts(parts)
  const known: KnownFacts = new Map()
  if (spine.suspect?.killed) known.set(batch[0]!, { kind: 'killed', ...spine.suspect.killed })
  for (let round = 1; ; round++) {
    try {
      const decided = await commitRound(batch, known, spine)
      if (spine.stage === 'work') spine.world.reach('work.committed')
      else spine.world.reach('batch.committed')
      spine.care.passed()
      spine.onCommitted(decided)
      tellRepeats(decided, spine)
      return decided
    } catch (error) {
      if (spine.signal.aborted) throw error
      const next = await recoverRound(error, round, batch, known, spine)
      if (next === 'split') return splitBatch(batch, spine)
    }
  }
}

/** One after the other, each in a transaction of its own; a key that stops in one is found stopped by the next. */
async function processParts<M, Tx>(
  parts: readonly (readonly [readonly Received<M>[], Spine<M, Tx>])[],
): Promise<readonly Decided<M>[]> {
  const decided: Decided<M>[] = []
  for (const [batch, spine] of parts) decided.push(...(await processBatch(batch, spine)))
  return decided
}

async function commitRound<M, Tx>(
  batch: readonly Received<M>[],
  known: KnownFacts,
  spine: Spine<M, Tx>,
): Promise<readonly Decided<M>[]> {
  const { store, enrolment, world } = spine
  let endTurn = () => {}
  let markers: ReadonlySet<Received<M>> = new Set()
  try {
    const committed = await store.transaction(enrolment, async session => {
      const claims = await claimBatch(batch, session, spine)
      markers = claims.claimed
      world.reach('batch.claimed')
      const turn = turnOf(batch, spine)
      if (turn !== null) endTurn = await spine.turns.take(turn === 'beside')
      const facts =
        spine.stage === 'store' ? keepAll(claims) : await applyEffects(batch, claims, known, session, spine)
      world.reach('batch.applied')
      if (spine.suspect) await session.withdrawAttempts!(batch.map(({ id }) => id!))
      const decided = await concludeBatch(batch, claims, facts, session, spine)
      world.reach('batch.concluded')
      session.book?.decided(decided)
      if (spine.log !== null) {
        await passFence(batch, decided, claims.standing, session, spine)
        world.reach('batch.fenced')
      }
      return decided
    })
    countMarkers(markers, committed, spine)
    return committed
  } finally {
    endTurn()
  }
}

/** A claim that is given back for another try leaves none. */
function countMarkers<M, Tx>(
  markers: ReadonlySet<Received<M>>,
  decided: readonly Decided<M>[],
  { stage, consumer, world }: Spine<M, Tx>,
): void {
  if (stage === 'work' || markers.size === 0) return
  let count = markers.size
  for (const { received, decision } of decided)
    if ((decision.outcome === 'retry' || decision.outcome === 'rerouted') && markers.has(received)) count--
  if (count > 0) world.metrics.add('inserts', count, { consumer: consumer.name })
}

/** Deliveries that changed nothing because their message was known by its id. Their own markers tell of the others. */
function tellRepeats<M, Tx>(decided: readonly Decided<M>[], { store, enrolment, mode }: Spine<M, Tx>): void {
  if (store.noteRepeats === undefined || mode !== 'live') return
  const ids: string[] = []
  for (const { received, decision } of decided) {
    const known = decision.outcome === 'duplicate' || decision.outcome === 'already held'
    if (known && decision.status === null && received.id !== null) ids.push(received.id)
  }
  if (ids.length > 0) store.noteRepeats(enrolment, ids)
}

/** Workers of deferred messages get only what has failed before. */
export function firstTries<M, Tx>({ inbox }: Consumer<M, Tx>, stage: Stage): boolean {
  return stage !== 'work' || inbox.mode === 'stored'
}

/**
 * A single message of held work locks rows in its handler's own order, and may be slow: others need not wait for it. Batch handlers sort what
 * they lock, but a few rows and many may be locked by different plans: what was deferred is taken up while no other batch is at work.
 */
function turnOf<M, Tx>(
  batch: readonly Received<M>[],
  { consumer, stage }: Spine<M, Tx>,
): 'alone' | 'beside' | null {
  if (stage === 'store' || (stage === 'work' && batch.length === 1)) return null
  if (consumer.handle !== undefined || !firstTries(consumer, stage)) return 'alone'
  return consumer.failure.mode === 'defer' ? 'beside' : null
}
