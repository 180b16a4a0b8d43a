import type { SessionEnd } from './session.ts'

export type QueueAnswer = 'there' | 'missing' | 'unknown'

/** The facts known when the broker cancels a consumer. */
export interface Cancelled {
  readonly queue: string
  readonly brokerVersion: string
  /** Some deliveries were not acknowledged yet. */
  readonly isHolding: boolean
  /** Whether the queue exists; unknown when the broker gave no answer. */
  readonly queueIs: QueueAnswer
}

/**
 * RabbitMQ requeues a delivery that is not acknowledged within its consumer timeout. Up to 4.2 it closes the
 * channel. From 4.3 on a quorum queue cancels the consumer, in the same way as when the queue is deleted.
 */
export function cancelledBy({ queue, brokerVersion, isHolding, queueIs }: Cancelled): SessionEnd {
  if (queueIs !== 'missing' && isHolding && cancelsOverdue(brokerVersion)) return overdue(queue)
  const reason =
    queueIs === 'there'
      ? `the broker cancelled the consumer: queue ${queue} moved, and is available again`
      : `the broker cancelled the consumer: queue ${queue} was deleted or moved`
  return { kind: 'cancelled', reason }
}

/** Null when the channel was closed for another reason. */
export function overdueClose(reason: string, queue: string): SessionEnd | null {
  return /delivery acknowledgement on channel \d+ timed out/.test(reason) ? overdue(queue, reason) : null
}

function overdue(queue: string, said = ''): SessionEnd {
  const reason = `a delivery of queue ${queue} was not acknowledged within the broker's consumer timeout. Nothing was lost: the broker redelivers all unacknowledged messages, and this consumer continues. Raise x-consumer-timeout of the queue or consumer_timeout of the broker, or lower batch.handlerTimeoutMs.${said === '' ? '' : ` The broker said: ${said}`}`
  return { kind: 'timed_out', reason }
}

function cancelsOverdue(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > 4 || (major === 4 && minor >= 3)
}
