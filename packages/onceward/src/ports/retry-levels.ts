/**
 * A header of copies that wait in a delay level: a table (on Kafka its JSON) of everything the round trip
 * would change. A handler never sees it.
 */
export const retryHeader = 'onceward-retry'

/**
 * Headers the broker writes on a message that passes through a queue. They are not content of the message.
 */
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
 * The queue or topic in which messages wait `levelMs` before they return to `queue`; with '' the common
 * prefix of these names.
 */
export function levelQueue(queue: string, levelMs: number | ''): string {
  return `${queue}.retry.${levelMs}`
}

/** Modes in which a message waits for its next try at the broker. */
export function byBroker(mode: string): boolean {
  return mode === 'retry queue' || mode === 'retry topic'
}
