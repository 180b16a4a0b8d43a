import { setTimeout as sleep } from 'node:timers/promises'
import { OncewardError } from '../../errors.ts'
import type { LogRecord } from '../../ports/log-record.ts'
import type { Edge, Edges, LogRange, Page, RangeReader } from '../../ports/range-reader.ts'
import type { Position } from '../../ports/source.ts'
import { brokenRecord, keptBytesMax } from '../log/broken-record.ts'
import type { KafkaConnectionOptions } from './client/connection-options.ts'
import { KafkaConnections, type TopicDescription } from './client/connections.ts'
import { fetchCommitted } from './client/fetch-committed.ts'
import { KafkaError, troubleOfCode } from './client/kafka-error.ts'
import { listOffsets } from './client/list-offsets.ts'
import { type FetchedPartition, fetchRecords } from './fetch-response.ts'
import { decodeRecordSet, type RecordSet, UnreadableBatch } from './record-set.ts'
import { toLogRecord } from './to-log-record.ts'

export interface KafkaRangeOptions extends KafkaConnectionOptions {
  readonly topic: string
  readonly isolation: 'committed' | 'uncommitted'
  /** The live consumer's group. Its offsets are only read. */
  readonly group: string
}

const fetchBytesMax = 1024 * 1024
const decodedBytesMax = 4 * 1024 * 1024
const damagedReadsMax = 3
const askAgainMs = 200
/** An offset beyond the end counts as lost once leaders have said so for this long, as in the live reader. */
const misfitMs = 3_000

/** Reads a topic's records between two positions from the leaders. Joins no group and commits nothing. */
export class KafkaRangeReader implements RangeReader {
  readonly origin: string
  readonly #options: KafkaRangeOptions
  readonly #connections: KafkaConnections
  readonly #damagedReads = new Map<string, number>()
  #topic: TopicDescription | null = null

  constructor(options: KafkaRangeOptions) {
    this.origin = options.topic
    this.#options = options
    this.#connections = new KafkaConnections(options)
  }

  async survey({ start, end }: Edges): Promise<readonly LogRange[]> {
    await this.#connections.check()
    const { id, partitions } = await this.#describe()
    const numbers = partitions.map(({ partition }) => partition)
    // The log changes meanwhile: its begin is asked before the edges and its end after them, so that an edge
    // at either lies within the bounds.
    const first = await this.#offsets(numbers, 'first')
    const [from, to] = [await this.#offsets(numbers, start), await this.#offsets(numbers, end)]
    const next = await this.#offsets(numbers, 'next')
    const named = numbers.filter(partition => from.has(partition) && to.has(partition))
    return named.map(partition => {
      const range = { from: from.get(partition)!, to: to.get(partition)! }
      this.#assertWithin(partition, range, { from: first.get(partition)!, to: next.get(partition)! })
      return {
        partition: `${this.origin}/${partition}`,
        incarnation: id,
        from: String(range.from),
        to: String(Math.max(range.from, range.to)),
      }
    })
  }

  async read(partition: string, from: Position): Promise<Page> {
    const { id } = this.#topic ?? (await this.#describe())
    if (id !== from.incarnation) return lost(`topic ${this.origin} was deleted and created again`)
    const answer = await this.#ask(numberOf(partition), Number(from.next)).catch(error => {
      this.#topic = null
      throw error
    })
    if (answer === null) return lost(`${partition} no longer has offset ${from.next}`)
    const { records, next } = this.#decode(answer, partition, Number(from.next))
    const behind = Math.max(0, Number(answer.highWatermark) - next)
    return { kind: 'records', records, next: String(next), atEnd: false, behind }
  }

  async committed(partitions: readonly string[]): Promise<ReadonlyMap<string, Position>> {
    const { group, topic } = this.#options
    const { id } = this.#topic ?? (await this.#describe())
    const committed = await fetchCommitted(this.#connections, group, topic, partitions.map(numberOf))
    return new Map(
      [...committed].map(([partition, { offset }]) => [
        `${this.origin}/${partition}`,
        { incarnation: id, next: String(offset) },
      ]),
    )
  }

  close(): Promise<void> {
    return this.#connections.close()
  }

  async #describe(): Promise<TopicDescription> {
    this.#topic = await this.#connections.findTopic(this.origin)
    if (this.#topic !== null) return this.#topic
    throw new OncewardError(
      'configuration',
      `Topic ${this.origin} does not exist on this cluster, or this user is not allowed to see it. Nothing was read.`,
    )
  }

  /** The end is the last stable offset, because an open transaction may still be aborted. */
  async #offsets(partitions: readonly number[], edge: Edge): Promise<ReadonlyMap<number, number>> {
    if (typeof edge === 'object' && 'offsets' in edge) return this.#named(partitions, edge.offsets)
    const { isolation } = this.#options
    const ask = async (at: Parameters<typeof listOffsets>[3]) => {
      const found = await listOffsets(this.#connections, this.origin, partitions, at, { isolation })
      return new Map(found.flatMap(one => (one.offset === null ? [] : [[one.partition, Number(one.offset)]])))
    }
    if (edge === 'first') return ask('earliest')
    const ends = await ask('latest')
    return edge === 'next' ? ends : new Map([...ends, ...(await ask(edge))])
  }

  #named(partitions: readonly number[], offsets: Readonly<Record<string, number>>): Map<number, number> {
    const found = new Map(Object.entries(offsets).map(([partition, offset]) => [Number(partition), offset]))
    const strange = [...found.keys()].find(partition => !partitions.includes(partition))
    if (strange !== undefined)
      throw new OncewardError(
        'configuration',
        `Topic ${this.origin} has partitions 0 to ${partitions.length - 1}, not ${strange}. Nothing was read.`,
      )
    return found
  }

  #assertWithin(partition: number, range: Span, log: Span): void {
    if (range.from >= log.from && range.from <= log.to && range.to <= log.to) return
    throw new OncewardError(
      'configuration',
      `${this.origin}/${partition} now begins at ${log.from} and ends before ${log.to}, but offsets ${range.from} to ${range.to} were requested. Nothing was read. Request the offsets that exist, or read the rest from another source that still has them.`,
    )
  }

  /**
   * Null when the log has no such offset. A leader that is new, or was replaced, may not know the newest
   * records.
   */
  async #ask(partition: number, offset: number): Promise<FetchedPartition | null> {
    for (const beganMs = performance.now(); ; await sleep(askAgainMs, undefined, { ref: false })) {
      const answer = await this.#fetch(this.#topic ?? (await this.#describe()), partition, BigInt(offset))
      if (answer !== null || performance.now() - beganMs >= misfitMs) return answer
      const first = (await this.#offsets([partition], 'first')).get(partition)!
      if (offset < first) return null
      this.#connections.forgetTopic(this.origin)
      this.#topic = null
    }
  }

  /** Null when the leader says that its log has no such offset. */
  async #fetch(topic: TopicDescription, partition: number, offset: bigint): Promise<FetchedPartition | null> {
    const { leader, leaderEpoch } = topic.partitions[partition]!
    const connection = await this.#connections.connect('fetch', leader)
    const { partitions } = await fetchRecords(connection, {
      maxWaitMs: 500,
      bytesMax: 4 * fetchBytesMax,
      isolation: this.#options.isolation,
      topicId: topic.id,
      partitions: [
        {
          partition,
          currentLeaderEpoch: leaderEpoch,
          fetchOffset: offset,
          lastFetchedEpoch: -1,
          partitionMaxBytes: fetchBytesMax,
        },
      ],
    })
    const answer = partitions[0]
    if (answer === undefined) throw new Error(`no answer about ${this.origin}/${partition}`)
    if (answer.errorCode === 0) return answer
    const trouble = troubleOfCode(answer.errorCode)
    if (trouble.name === 'OFFSET_OUT_OF_RANGE') return null
    throw new KafkaError(trouble, `${this.origin}/${partition}`)
  }

  /** Returns the records before an unreadable batch first, then the batch itself as one unreadable record. */
  #decode({ records, aborted }: FetchedPartition, partition: string, from: number): Decoded {
    const { isolation } = this.#options
    const decoded = (set: RecordSet) => ({
      records: set.records.map(record => toLogRecord(record, partition, true)),
      next: set.next,
    })
    try {
      return decoded(decodeRecordSet(records, { from, isolation, aborted, bytesMax: decodedBytesMax }))
    } catch (error) {
      if (!(error instanceof UnreadableBatch)) throw error
      return error.before.next > from ? decoded(error.before) : this.#broken(error, partition, from)
    }
  }

  /** Fetches the batch again first, because it may have been damaged in transit. */
  #broken(error: UnreadableBatch, partition: string, from: number): Decoded {
    const { message, next, bytes } = error
    const place = `${partition}@${from}`
    const reads = (this.#damagedReads.get(place) ?? 0) + 1
    this.#damagedReads.set(place, reads)
    if (reads < damagedReadsMax) throw new Error(`the batch at ${place} cannot be read: ${message}`)
    if (next !== null && bytes.length <= keptBytesMax) {
      const part = {
        partition,
        offset: from,
        records: next - from,
        bytes,
        problem: message,
        redelivered: true,
      }
      return { records: [brokenRecord(part)], next }
    }
    throw new OncewardError(
      'configuration',
      `${this.origin}: the batch at offset ${error.offset} cannot be read (${message}), and its bytes cannot be kept. Nothing of it was delivered. Exclude it with ranges before and after it.`,
      { cause: error },
    )
  }
}

interface Decoded {
  readonly records: readonly LogRecord[]
  readonly next: number
}

interface Span {
  readonly from: number
  readonly to: number
}

function lost(reason: string): Page {
  return { kind: 'lost', to: null, records: null, reason }
}

function numberOf(partition: string): number {
  return Number(partition.slice(partition.lastIndexOf('/') + 1))
}
