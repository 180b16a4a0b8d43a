import type { OutgoingMessage } from '../../ports/publisher.ts'

/** The unit of order: a key at a queue. Null without a key. */
export function lineOf({ exchange, queue, key }: Pick<OutgoingMessage, 'exchange' | 'queue' | 'key'>) {
  return key === null ? null : `${exchange?.length},${queue.length},${exchange}${queue}${key}`
}
