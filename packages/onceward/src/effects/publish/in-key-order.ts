import type { OutgoingMessage, PublishAnswer, Publisher } from '../../ports/publisher.ts'
import { lineOf } from './line-of.ts'

/** A broker that answers each message separately: it may refuse one and accept the next. */
export interface PlainPublisher {
  publish(messages: readonly OutgoingMessage[]): Promise<readonly ('confirmed' | Error)[]>
  connect?(): Promise<void>
  close(): Promise<void>
}

/**
 * Sends the first message of each key, waits for the answers, then sends the second of each key that was
 * confirmed, and so on. If they were sent together, a message that is returned or refused would be overtaken
 * by the next of its key: a full queue accepts messages again as soon as one is consumed. When fewer than a
 * quarter of the keys have a next message, it is left for another call, where it shares the wait for
 * confirms.
 */
export function inKeyOrder(publisher: PlainPublisher): Publisher {
  return {
    async publish(messages, still) {
      const answers = new Array<PublishAnswer>(messages.length).fill('behind')
      let lines = linesOf(messages)
      const fewest = lines.length / 4
      for (let place = 0; lines.length > 0 && lines.length >= fewest && still(); place++) {
        const indexes = lines.map(line => line[place]!)
        const answered = await publisher.publish(indexes.map(index => messages[index]!))
        indexes.forEach((index, at) => {
          answers[index] = answered[at]!
        })
        lines = lines.filter((line, at) => answered[at] === 'confirmed' && place + 1 < line.length)
      }
      return answers
    },
    ...(publisher.connect && { connect: () => publisher.connect!() }),
    close: () => publisher.close(),
  }
}

/** Indexes grouped by queue and key. A message without a key forms its own group. */
function linesOf(messages: readonly OutgoingMessage[]): number[][] {
  const lines: number[][] = []
  const byName = new Map<string, number[]>()
  for (const [index, message] of messages.entries()) {
    const name = lineOf(message)
    const line = (name === null ? undefined : byName.get(name)) ?? []
    if (line.length === 0) lines.push(line)
    line.push(index)
    if (name !== null) byName.set(name, line)
  }
  return lines
}
