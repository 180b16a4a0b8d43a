import type { Consumer } from '../contract/define-consumer.ts'
import type { Mode } from '../contract/handler.ts'
import type { InlineCall } from '../engine/batch/buffer-effects.ts'
import type { LocalHandoff } from '../engine/batch/local-handoff.ts'
import { type ConsumerOptions, ConsumerProcess } from '../engine/consumer/consumer.ts'
import type { SharedLimits } from '../engine/consumer/shared-limits.ts'
import type { Environment } from '../environment.ts'
import { workerSuffix } from '../ports/held-work.ts'
import type { Store } from '../ports/store.ts'
import { HeldSource } from './held-source.ts'

export interface WorkerOptions<M, Tx> {
  readonly consumer: Consumer<M, Tx>
  readonly store: Store<Tx>
  readonly env: Environment
  readonly mode: Mode
  readonly instance: string
  /** Makes the calls of `effects.call`. */
  readonly callInline?: InlineCall
  /** Called after every committed batch: it may have left work for relays and workers. */
  readonly onBatchDecided: () => void
  readonly onOutage?: ConsumerOptions<M, Tx>['onOutage']
  readonly addressing?: ConsumerOptions<M, Tx>['addressing']
  /** Limits shared with the consumer of the same process. */
  readonly shared?: SharedLimits
}

/**
 * Failed messages are leased while no other batch runs. With 1 % failing, every batch left five, and leasing
 * them as soon as they were due cost more than half of the rate. A retry has waited before and can wait a
 * little more.
 */
const restMs = 250

/** True for consumers that leave work for later: all of it, waiting messages, or failed ones. */
export function leavesWork<M, Tx>({ inbox, effect, failure }: Consumer<M, Tx>): boolean {
  return inbox.mode === 'stored' || effect?.apply?.mayWait === true || failure.mode === 'defer'
}

/** The same engine on another source: held rows instead of a broker's deliveries. */
export function createWorker<M, Tx>(options: WorkerOptions<M, Tx>) {
  const { consumer, store, env, mode, instance, callInline, onBatchDecided, onOutage, shared } = options
  const { addressing } = options
  const { leaseMs, workers } = consumer.inbox
  const source = new HeldSource({
    store: store as Store<never>,
    env,
    consumerName: consumer.name,
    leaseMs,
    workers,
    ordered: consumer.order === 'key',
    rest:
      consumer.inbox.mode === 'stored' || shared === undefined
        ? null
        : { ms: restMs, lock: shared.writeLock },
  })
  const worker = new ConsumerProcess({
    consumer: {
      ...consumer,
      order: consumer.order === 'key' ? 'key' : 'none',
      settle: { ...consumer.settle, when: 'after effect' },
      // A message that fails again stays in its row; only its next attempt moves.
      failure: { ...consumer.failure, mode: 'block' },
      batch: { ...consumer.batch, inFlightMax: workers },
    },
    source,
    store,
    env,
    mode,
    stage: 'work',
    ...(callInline && { callInline }),
    ...(onOutage && { onOutage }),
    ...(addressing && { addressing }),
    ...(shared && { shared }),
    instance: `${instance}${workerSuffix}`,
    onBatchDecided,
  })
  return {
    process: worker,
    localHandoff: source as LocalHandoff,
    start: () => worker.start(),
    kick: () => source.kick(),
    drain: (deadlineMs?: number) => worker.drain(deadlineMs),
    leave: () => worker.leave(),
    finished: worker.finished,
  }
}
