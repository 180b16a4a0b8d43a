import { levelQueue } from '../../ports/retry-levels.ts'
import type { QueueDeclaration } from './declaration.ts'
import { ensureQueues } from './topology.ts'

/**
 * One durable queue per delay, whose time to live is the queue's own: within it all messages wait equally
 * long, so the head is always the next that is due. Nobody consumes them; what is due goes back to the
 * consumer's queue, and stays until that has confirmed it.
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

/** Makes the levels, or fails when one exists with other arguments. */
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
