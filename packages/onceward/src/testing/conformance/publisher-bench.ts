import assert from 'node:assert/strict'
import type { OutgoingMessage, PublishAnswer } from '../../ports/publisher.ts'
import type { Delivery } from '../../ports/source.ts'
import type { PublisherUnderTest } from './publisher.ts'
import { receiveCount, SourceBench } from './source-bench.ts'

/** Generous: only a publisher that hangs waits for it. */
const boundMs = 60_000
const roundsMax = 50

/** A publisher with a reader behind its destination. */
export class PublisherBench {
  readonly under: PublisherUnderTest
  readonly #reader: SourceBench

  constructor(under: PublisherUnderTest) {
    this.under = under
    this.#reader = new SourceBench(under.destination)
  }

  message(messageId: string, changes: Partial<OutgoingMessage> = {}): OutgoingMessage {
    const body = Buffer.from(`body of ${messageId}`)
    return { ...this.under.place, messageId, key: null, headers: {}, properties: {}, body, ...changes }
  }

  /**
   * One answer for each message, or the rejection of the call as the error of each, as the relay treats it.
   */
  async publish(...messages: readonly OutgoingMessage[]): Promise<readonly PublishAnswer[]> {
    const { publisher } = this.under
    const answers = await publisher
      .publish(messages, () => true)
      .catch((error: Error) => messages.map(() => error))
    assert.equal(answers.length, messages.length, 'one answer for each message')
    return answers
  }

  /** As the relay does: publishes every unconfirmed message again, under the same ids, in the same order. */
  async publishAll(messages: readonly OutgoingMessage[]): Promise<void> {
    let left = messages
    for (let round = 0; left.length > 0; round++) {
      assert.ok(round < roundsMax, `${left.length} messages are still unconfirmed after ${roundsMax} rounds`)
      const answers = await this.publish(...left)
      left = left.filter((_, index) => answers[index] !== 'confirmed')
    }
  }

  /** The first deliveries of the destination, in the order of arrival. */
  async received(count: number): Promise<readonly Delivery[]> {
    return receiveCount(await this.#reader.open(), count)
  }

  /** Reads until these ids have arrived; other messages may arrive as well. */
  async receivedUntil(ids: readonly string[]): Promise<readonly Delivery[]> {
    const subscription = await this.#reader.open()
    const missing = new Set(ids)
    const received: Delivery[] = []
    while (missing.size > 0) {
      const waiting = `${[...missing].slice(0, 3).join(', ')} and ${missing.size} messages in all, confirmed before,`
      const deliveries = await bounded(waiting, subscription.receive(100))
      received.push(...deliveries)
      await subscription.settle(deliveries)
      for (const delivery of deliveries) missing.delete(idOf(delivery))
    }
    return received
  }

  /**
   * Fails when the destination has anything but these, in any order: a last message proves that all were
   * read.
   */
  async expectOnly(...ids: readonly string[]): Promise<void> {
    const last = this.message('the last one')
    assert.deepEqual(await this.publish(last), ['confirmed'])
    const received = (await this.received(ids.length + 1)).map(idOf)
    assert.deepEqual(received.toSorted(), [...ids, last.messageId].toSorted())
  }

  async close(): Promise<void> {
    await this.under.publisher.close()
    await this.#reader.close()
    await this.under.close()
  }
}

export const idOf = ({ properties }: Delivery): string => properties.messageId ?? ''

/** Rejects when it takes longer than any bound of a driver. */
export async function bounded<T>(what: string, promise: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`${what} took longer than ${boundMs} ms`)), boundMs)
  return Promise.race([promise, late.promise]).finally(() => clearTimeout(timer))
}
