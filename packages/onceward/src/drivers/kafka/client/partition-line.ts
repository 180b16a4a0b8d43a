import { setTimeout as sleep } from 'node:timers/promises'
import { OncewardError } from '../../../errors.ts'
import type { KafkaConnections } from './connections.ts'
import { answerOf, KafkaError, type KafkaTrouble, troubleOf, troubleOfCode } from './kafka-error.ts'
import { produceV12 } from './produce-request.ts'
import { type Compression, encodeRecordBatch, type OutgoingRecord, recordBytes } from './record-batch.ts'

/**
 * The identity of a producer. A broker refuses a batch whose sequence does not follow the last one of the
 * same producer id and epoch.
 */
export interface ProducerIdentity {
  readonly producerId: bigint
  readonly producerEpoch: number
  readonly transactionalId: string | null
}

/** Supplies the identity of a line, and learns when the line abandons it. */
export interface ProducerSession {
  current(): Promise<ProducerIdentity>
  giveUp(identity: ProducerIdentity, trouble: KafkaTrouble): void
  /** A batch is about to be sent to the partition. */
  onSend?(topic: string, partition: number): void
  /** A batch is stored, its first record at this offset; null when the broker does not return it. */
  onStored?(topic: string, partition: number, offset: bigint | null): void
  /** False when a batch without an answer must not be sent again. */
  mayRepeat?(topic: string, partition: number): boolean
}

export interface LineOptions {
  readonly connections: KafkaConnections
  readonly session: ProducerSession
  readonly compression: Compression
  /** From the call of `send` to its last answer. */
  readonly deliveryTimeoutMs: number
  readonly closed: AbortSignal
}

/** `offset` is null when the broker only knows that it already has the record. */
export interface RecordPlace {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint | null
}

export type RecordResult = RecordPlace | OncewardError

/** Well below the broker's default of 1 MiB for a batch. */
const batchBytesMax = 512 * 1024
const brokerTimeoutMs = 10_000

/**
 * Sends one producer's records to one partition, one batch at a time, in order. A batch without an answer is
 * sent again byte for byte with the same sequence, so the broker stores it once. If retries fail, the line
 * takes a new identity, because the next sequence is unknown.
 */
export class PartitionLine {
  readonly #topic: string
  readonly #partition: number
  readonly #options: LineOptions
  #tail: Promise<unknown> = Promise.resolve()
  #identity: ProducerIdentity | null = null
  #sequence = 0

  constructor(topic: string, partition: number, options: LineOptions) {
    this.#topic = topic
    this.#partition = partition
    this.#options = options
  }

  /** Results are in the order of the records. Never rejects. */
  send(records: readonly OutgoingRecord[]): Promise<readonly RecordResult[]> {
    const endMs = performance.now() + this.#options.deliveryTimeoutMs
    const sending = this.#tail.then(() => this.#sendInOrder(cut(records), endMs))
    this.#tail = sending
    return sending
  }

  /**
   * Does not send a record when an earlier one of the same key is not stored, because it would overtake it.
   */
  async #sendInOrder(
    batches: readonly (readonly OutgoingRecord[])[],
    endMs: number,
  ): Promise<readonly RecordResult[]> {
    const results: RecordResult[] = []
    const stopped = new Set<string>()
    for (const batch of batches) {
      const isStopped = ({ key }: OutgoingRecord) => key !== null && stopped.has(key.toString('latin1'))
      const due = stopped.size === 0 ? batch : batch.filter(record => !isStopped(record))
      const answers = due.length === 0 ? [] : await this.#sendBatch(due, endMs)
      let next = 0
      for (const record of batch) {
        const result = isStopped(record) ? this.#overtaking() : answers[next++]!
        results.push(result)
      }
      due.forEach(({ key }, index) => {
        if (key !== null && answers[index] instanceof OncewardError) stopped.add(key.toString('latin1'))
      })
    }
    return results
  }

  async #sendBatch(records: readonly OutgoingRecord[], endMs: number): Promise<readonly RecordResult[]> {
    const { session, compression } = this.#options
    let sent = false
    try {
      const identity = await this.#retry(endMs, () => session.current())
      if (identity !== this.#identity) this.#sequence = 0
      this.#identity = identity
      const { producerId, producerEpoch } = identity
      const transactional = identity.transactionalId !== null
      const about = { producerId, producerEpoch, sequence: this.#sequence, transactional }
      const batch = encodeRecordBatch(records, about, compression)
      sent = true
      session.onSend?.(this.#topic, this.#partition)
      const offset = await this.#retry(endMs, () => this.#ask(identity, batch))
      session.onStored?.(this.#topic, this.#partition, offset)
      this.#sequence = (this.#sequence + records.length) & 0x7fffffff
      return records.map((_, index) => this.#place(offset === null ? null : offset + BigInt(index)))
    } catch (error) {
      const trouble = troubleOf(error)
      if (trouble.kind === 'record' && records.length > 1) return this.#sendHalves(records, endMs)
      if (sent && !isRefusal(trouble)) session.giveUp(this.#identity!, trouble)
      const failure = this.#failure(error, trouble, sent)
      return records.map(() => failure)
    }
  }

  /**
   * A refused batch was not stored, so its sequence is still free. One record may have caused the refusal of
   * the others.
   */
  async #sendHalves(records: readonly OutgoingRecord[], endMs: number): Promise<readonly RecordResult[]> {
    const half = Math.ceil(records.length / 2)
    return this.#sendInOrder([records.slice(0, half), records.slice(half)], endMs)
  }

  /** Repeats while a retry may help and there is time. */
  async #retry<T>(endMs: number, attempt: () => Promise<T>): Promise<T> {
    const { connections, closed, session } = this.#options
    for (let pauseMs = 10; ; pauseMs = Math.min(1_000, pauseMs * 2)) {
      try {
        return await attempt()
      } catch (error) {
        const { kind, retriable } = troubleOf(error)
        if (error instanceof OncewardError || !retriable || kind === 'record') throw error
        if (closed.aborted || performance.now() + pauseMs > endMs) throw error
        connections.forgetTopic(this.#topic)
        await sleep(pauseMs, undefined, { signal: closed }).catch(() => {})
        if (session.mayRepeat?.(this.#topic, this.#partition) === false) throw error
      }
    }
  }

  /**
   * The offset of the first record; null when the broker already has the batch and does not return its
   * offset.
   */
  async #ask(identity: ProducerIdentity, batch: Buffer): Promise<bigint | null> {
    const { connections } = this.#options
    const [topic, partition] = [this.#topic, this.#partition]
    const { leader } = await connections.leaderOf(topic, partition)
    if (leader < 0) throw new KafkaError(troubleOfCode(5), `${topic}/${partition}`)
    const connection = await connections.connect('produce', leader)
    const asked = produceV12.async(connection, identity.transactionalId, brokerTimeoutMs, {
      topic,
      partition,
      batch,
    })
    const answer = (await answerOf(asked)).responses[0]?.partitionResponses[0]
    if (answer === undefined) throw new KafkaError(troubleOfCode(-1), `no answer for ${topic}/${partition}`)
    if (answer.errorCode === 0) return answer.baseOffset
    const trouble = troubleOfCode(answer.errorCode, answer.errorMessage)
    if (trouble.name === 'DUPLICATE_SEQUENCE_NUMBER') return null
    throw new KafkaError(trouble, `${topic}/${partition}`)
  }

  #place(offset: bigint | null): RecordPlace {
    return { topic: this.#topic, partition: this.#partition, offset }
  }

  #overtaking(): OncewardError {
    return new OncewardError(
      'publish_unconfirmed',
      `An earlier record of the same key for topic ${this.#topic}, partition ${this.#partition} was not stored, so this one was not sent. Publish them again in the same order.`,
      { details: { topic: this.#topic, partition: this.#partition } },
    )
  }

  #failure(error: unknown, trouble: KafkaTrouble, sent: boolean): OncewardError {
    const where = `topic ${this.#topic}, partition ${this.#partition}`
    const details = { topic: this.#topic, partition: this.#partition, kafka: trouble.name }
    const options = { cause: error, details }
    if (error instanceof OncewardError) return error
    if (trouble.kind === 'record') {
      const advice = 'It was not stored. Make it smaller, or raise max.message.bytes of the topic.'
      return new OncewardError(
        'publish_refused',
        `Kafka refused the record for ${where}: ${trouble.text}. ${advice}`,
        options,
      )
    }
    if (trouble.kind === 'credentials') {
      return new OncewardError(
        'configuration',
        `This user is not allowed to write to ${where}: ${trouble.text}. Nothing was stored. Check \`sasl\`, \`tls\` and the ACLs of the topic.`,
        options,
      )
    }
    const fate = sent ? 'They may or may not be stored.' : 'Nothing was sent.'
    return new OncewardError(
      'publish_unconfirmed',
      `Kafka did not confirm the records for ${where}: ${trouble.text}. ${fate} Publish them again under the same ids.`,
      options,
    )
  }
}

/** The broker rejected the batch and stored nothing, so the same sequence is still the next one. */
function isRefusal({ kind }: KafkaTrouble): boolean {
  return kind === 'record' || kind === 'credentials'
}

function cut(records: readonly OutgoingRecord[]): (readonly OutgoingRecord[])[] {
  const batches: OutgoingRecord[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const record of records) {
    const size = recordBytes(record)
    if (bytes + size > batchBytesMax) {
      batches.push([])
      bytes = 0
    }
    batches.at(-1)!.push(record)
    bytes += size
  }
  return batches
}
