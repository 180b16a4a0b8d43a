import { levelQueue } from '../../ports/retry-levels.ts'
import type { QueueDeclaration } from './declaration.ts'
import { ensureQueues } from './topology.ts'

/**
 * One durable queue per delay, with a time to live on the queue. All its messages wait equally long, so the
 * head is always due next. No consumer reads it. The broker dead-letters due messages to the consumer's queue
 * and keeps each until that queue has confirmed it.
 */
export function levelDeclaration(queue: string, levelMs: number): QueueDeclaration {
  return {
    kind: 'rabbitmq',
    queue: levelQueue(queue, levelMs),
    deadLetterExchange: '',
    deadLetterRoutingKey: queue,
    arguments: { 'x-message-ttl': levelMs },
  }
}

/** Creates the levels, or fails when one exists with other arguments. */
export function ensureRetryLevels(
  url: string,
  queue: string,
  levelsMs: readonly number[],
  signal?: AbortSignal,
): Promise<void> {
  return ensureQueues(
    url,
    levelsMs.map(levelMs => levelDeclaration(queue, levelMs)),
    'The retry queues',
    signal,
  )
}
