import type { Consumer } from '../contract/define-consumer.ts'
import type { Mode } from '../contract/handler.ts'
import type { Environment } from '../environment.ts'
import type { Subscription } from '../ports/source.ts'
import type { Enrolment, Store } from '../ports/store.ts'
import type { InlineCall } from './batch/buffer-effects.ts'
import type { HorizonCheck } from './batch/horizon-guard.ts'
import type { LocalHandoff } from './batch/local-handoff.ts'
import type { SavepointPolicy } from './batch/savepoint-policy.ts'
import type { SharedLock } from './batch/shared-lock.ts'
import type { Breaker } from './retry/breaker.ts'
import type { SettleTiming } from './settle/settlement.ts'

/**
 * What the engine does with a batch. `whole`: claims and applies deliveries. `store`: claims and keeps them
 * for later. `work`: applies what was kept, under a lease.
 */
export type Stage = 'inline' | 'enqueue' | 'work'

/**
 * What is fixed for a consumer from its start to its end. What belongs to one try of a batch is in
 * `BatchAttempt`.
 */
export interface ConsumerContext<M = unknown, Tx = unknown> {
  readonly consumer: Consumer<M, Tx>
  readonly store: Store<Tx>
  readonly enrolment: Enrolment
  readonly subscription: Subscription
  readonly mode: Mode
  /** External effects and messages are not requested. */
  readonly suppresses: boolean
  /** Of a live worker: the campaign that held these messages, whose mode they are worked in. */
  readonly campaignId?: string
  readonly stage: Stage
  readonly env: Environment
  /** Aborted when the process must leave at once. */
  readonly signal: AbortSignal
  readonly settleTiming: SettleTiming
  /**
   * Batches of per-message handlers hold it from apply to commit: two that write the same rows in different
   * orders would deadlock, and each deadlock costs a second (600 messages/s with 1,000 hot rows; with the
   * lock 5,500–8,100). Claiming overlaps.
   */
  readonly writeLock: SharedLock
  readonly savepoints: SavepointPolicy
  readonly breaker: Breaker
  /**
   * Notices messages older than the markers that are left. Absent where markers decide nothing, or nothing is
   * applied twice.
   */
  readonly horizon?: HorizonCheck
  /** Makes the calls of `effects.call`. */
  readonly callInline?: InlineCall
  /** Storing, with a worker in this process: messages it has room for are handed to it at once. */
  readonly localHandoff?: LocalHandoff
}

/** Workers of deferred messages get only what has failed before. */
export function firstTries<M, Tx>({
  consumer,
  stage,
}: Pick<ConsumerContext<M, Tx>, 'consumer' | 'stage'>): boolean {
  return stage !== 'work' || consumer.inbox.mode === 'stored'
}
