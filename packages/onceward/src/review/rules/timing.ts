import type { Consumer } from '../../contract/define-consumer.ts'
import { durationText } from '../../contract/duration.ts'
import { retryHorizonMs } from '../../contract/needed-retention.ts'
import type { Rule } from '../rule.ts'

/** RabbitMQ's own, where nobody set another. */
export const ackTimeoutDefaultMs = 30 * 60_000

/**
 * The longest a delivery may be held without being settled while everything works. Blocked retries hold it; a
 * batch waits for the one before.
 */
export function longestHoldMs(consumer: Pick<Consumer, 'failure' | 'batch' | 'inbox'>): number {
  const batches = 2 * consumer.batch.handlerTimeoutMs
  const blocks = consumer.failure.mode === 'block' && consumer.inbox.mode !== 'stored'
  return blocks ? retryHorizonMs(consumer) + batches : batches
}

export const timingRules: readonly Rule<Consumer>[] = [
  {
    id: 'OW151',
    severity: 'warning',
    title: 'Deliveries are settled before the broker loses patience',
    reason:
      'Past its acknowledgement time-out (30 min unless changed) RabbitMQ closes the channel and hands everything on it over again.',
    fix: "Make batch.handlerTimeoutMs, attempts or delays smaller, use failure.mode 'defer' or inbox.mode 'stored', or raise consumer-timeout by a policy and waive this.",
    judge: consumer => {
      const ms = longestHoldMs(consumer)
      return consumer.source.kind === 'rabbitmq' && ms >= ackTimeoutDefaultMs
        ? `a delivery may be held for ${durationText(ms)}, RabbitMQ waits ${durationText(ackTimeoutDefaultMs)}`
        : null
    },
  },
  {
    id: 'OW152',
    severity: 'warning',
    title: 'A batch can be finished within a rebalance',
    reason:
      'When a partition goes to another member, what is under way is finished first; past the rebalance time-out the group goes on without it and the work is done twice as far as handlers notice.',
    fix: "Raise the topic's rebalanceTimeoutMs above batch.handlerTimeoutMs, or lower the latter.",
    judge: ({ source, batch }) => {
      const { rebalanceTimeoutMs = 60_000 } = source as { rebalanceTimeoutMs?: number }
      return source.kind === 'kafka' && batch.handlerTimeoutMs >= rebalanceTimeoutMs
        ? `batch.handlerTimeoutMs ${durationText(batch.handlerTimeoutMs)}, rebalance time-out ${durationText(rebalanceTimeoutMs)}`
        : null
    },
  },
]
