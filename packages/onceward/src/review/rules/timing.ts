import type { Consumer } from '../../contract/define-consumer.ts'
import { durationText } from '../../contract/duration.ts'
import { retryHorizonMs } from '../../contract/needed-retention.ts'
import type { Rule } from '../rule.ts'

/** RabbitMQ's default. */
export const ackTimeoutDefaultMs = 30 * 60_000

/**
 * The longest time that a delivery stays unacknowledged in normal operation. Blocked retries hold it; a batch
 * waits for the one before.
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
    title: 'Deliveries are acknowledged before the broker’s time-out',
    reason:
      'After its acknowledgement time-out (30 min unless changed) RabbitMQ closes the channel, or from 4.3 on cancels the consumer of a quorum queue, and redelivers every message.',
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
    title: 'A batch finishes within a rebalance',
    reason:
      'When a partition moves to another member, the batch under way is finished first. After the rebalance time-out the group continues without this member, and handlers run twice.',
    fix: "Raise the topic's rebalanceTimeoutMs above batch.handlerTimeoutMs, or lower the latter.",
    judge: ({ source, batch }) => {
      const { rebalanceTimeoutMs = 60_000 } = source as { rebalanceTimeoutMs?: number }
      return source.kind === 'kafka' && batch.handlerTimeoutMs >= rebalanceTimeoutMs
        ? `batch.handlerTimeoutMs ${durationText(batch.handlerTimeoutMs)}, rebalance time-out ${durationText(rebalanceTimeoutMs)}`
        : null
    },
  },
]
