import type { Consumer } from '../contract/define-consumer.ts'
import type { Mode } from '../contract/handler.ts'
import type { Environment } from '../environment.ts'
import type { Enrolment } from '../ports/enrolment.ts'
import type { Subscription } from '../ports/source.ts'
import type { Store } from '../ports/store.ts'
import type { InlineCall } from './batch/buffer-effects.ts'
import type { HorizonCheck } from './batch/horizon-guard.ts'
import type { LocalHandoff } from './batch/local-handoff.ts'
import type { SavepointPolicy } from './batch/savepoint-policy.ts'
import type { SharedLock } from './batch/shared-lock.ts'
import type { Brakes } from './retry/brakes.ts'
import type { Breaker } from './retry/breaker.ts'
import type { Redelivery } from './retry/redelivery.ts'
import type { SettleTiming } from './settle/settlement.ts'

/**
 * What the engine does with a batch. `inline`: inserts markers and applies the deliveries. `enqueue`: inserts
 * markers and stores the deliveries for later. `work`: applies stored messages under a lease.
 */
export type Stage = 'inline' | 'enqueue' | 'work'

/**
 * Everything that is fixed for a consumer from start to end. `BatchAttempt` has what belongs to one attempt.
 */
export interface ConsumerContext<M = unknown, Tx = unknown> {
  readonly consumer: Consumer<M, Tx>
  readonly store: Store<Tx>
  readonly enrolment: Enrolment
  readonly subscription: Subscription
  readonly mode: Mode
  /** External effects and messages are suppressed. */
  readonly suppresses: boolean
  /** For a live worker: the campaign that stored these messages. They are applied in its mode. */
  readonly campaignId?: string
  readonly stage: Stage
  readonly env: Environment
  /** Aborted when the process must stop at once. */
  readonly signal: AbortSignal
  readonly settleTiming: SettleTiming
  /**
   * Batches of per-message handlers hold it from apply to commit. Two such batches that write the same rows
   * in different orders would deadlock, and each deadlock costs a second (600 messages/s with 1,000 hot rows;
   * with the lock 5,500–8,100). Inserting markers overlaps.
   */
  readonly writeLock: SharedLock
  readonly savepoints: SavepointPolicy
  readonly breaker: Breaker
  readonly brakes: Brakes
  readonly redelivery: Redelivery
  /**
   * Detects messages older than the remaining markers. Absent if markers decide nothing, or if nothing can be
   * applied twice.
   */
  readonly horizon?: HorizonCheck
  /** Makes the calls of `effects.call`. */
  readonly callInline?: InlineCall
  /** In stage `enqueue`, with a worker in this process: messages go to it directly while it has room. */
  readonly localHandoff?: LocalHandoff
}

/** False for workers of deferred messages: every message they receive has failed before. */
export function firstTries<M, Tx>({
  consumer,
  stage,
}: Pick<ConsumerContext<M, Tx>, 'consumer' | 'stage'>): boolean {
  return stage !== 'work' || consumer.inbox.mode === 'stored'
}
