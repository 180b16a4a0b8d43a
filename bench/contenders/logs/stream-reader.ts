import { type Client, type Consumer, Offset } from 'rabbitmq-stream-js-client'
import { connectStreams } from '../../logs/stream.ts'
import type { ConnectLog, LogReader, LogRecord } from './log-reader.ts'

const waitingMax = 4_000

/**
 * The stream client as it comes: its default credit, one chunk after the other, is the only one that keeps
 * the order.
 */
export const connectStream: ConnectLog = async place => {
  const client = await connectStreams(place.streamUrl!)
  return { open: async ({ queue, group }) => StreamReader.open(client, queue, group) }
}

class StreamReader implements LogReader {
  #consumer!: Consumer
  #records: LogRecord[] = []
  #arrived = Promise.withResolvers<void>()
  #taken = Promise.withResolvers<void>()

  static async open(client: Client, stream: string, group: string): Promise<StreamReader> {
    const reader = new StreamReader()
    reader.#consumer = await client.declareConsumer(
      { stream, consumerRef: group, offset: Offset.first() },
      message => reader.#add({ partition: 0, offset: Number(message.offset), body: message.content }),
    )
    return reader
  }

  async read(): Promise<readonly LogRecord[]> {
    while (this.#records.length === 0) {
      await this.#arrived.promise
      this.#arrived = Promise.withResolvers()
    }
    const records = this.#records
    this.#records = []
    this.#taken.resolve()
    this.#taken = Promise.withResolvers()
    return records
  }

  async commit(nextByPartition: ReadonlyMap<number, number>): Promise<void> {
    const next = nextByPartition.get(0)
    if (next !== undefined) await this.#consumer.storeOffset(BigInt(next - 1))
  }

  async close(): Promise<void> {
    this.#taken.resolve()
    await this.#consumer.close()
  }

  /** A promise holds the client back until there is room. */
  #add(record: LogRecord): Promise<void> | void {
    this.#records.push(record)
    if (this.#records.length === 1) this.#arrived.resolve()
    if (this.#records.length >= waitingMax) return this.#taken.promise
  }
}
