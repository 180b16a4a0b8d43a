/**
 * A table (on Kafka its JSON) on a copy that goes round a delay level, and never on what a handler sees:
 * everything the round trip would change.
 */
export const retryHeader = 'onceward-retry'

/** What the broker writes on a message that passes through a queue. Nobody's content. */
export const deathHeaders: readonly string[] = [
  'x-death',
  'x-first-death-queue',
  'x-first-death-reason',
  'x-first-death-exchange',
  'x-last-death-queue',
  'x-last-death-reason',
  'x-last-death-exchange',
]
export const countHeaders: readonly string[] = ['x-delivery-count', 'x-acquired-count']

/**
 * The queue or topic in which messages wait `levelMs` before they come back to `queue`; with '' what all
 * their names begin with.
 */
export function levelQueue(queue: string, levelMs: number | ''): string {
  return `${queue}.retry.${levelMs}`
}

/** Modes in which a message waits for its next try at the broker. */
export function byBroker(mode: string): boolean {
  return mode === 'retry queue' || mode === 'retry topic'
}
