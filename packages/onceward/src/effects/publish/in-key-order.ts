import type { OutgoingMessage, PublishAnswer, Publisher } from '../../ports/publisher.ts'
import { lineOf } from './line-of.ts'

/** A broker that answers for each message by itself: it may refuse one and take the next. */
export interface PlainPublisher {
  publish(messages: readonly OutgoingMessage[]): Promise<readonly ('confirmed' | Error)[]>
  connect?(): Promise<void>
  close(): Promise<void>
}

/**
 * Sends the first message of each key, waits for the answers, then the second of those that were confirmed,
 * and so on. Sent together, one that is returned or refused would be overtaken by the next of its key: a
 * queue that is full takes messages again when one was read. When few have a next one they are left for
 * another call, to wait for their confirms together with others.
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

/** Indexes by line; a message without a key is a line of its own. */
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
