import { errorText } from '../../../errors.ts'
import type { PartitionProgress } from '../../log/partition-progress.ts'
import { type FetchedPartition, fetchRecords } from '../fetch-response.ts'
import { decodeRecordSet, type RecordSet, UnreadableBatch } from '../record-set.ts'
import { toLogRecord } from '../to-log-record.ts'
import type { TopicSettings } from '../topic.ts'
import type { KafkaConnections, TopicDescription } from './connections.ts'
import type { Bounds, FetchEvents, Fetcher } from './kafka-client.ts'
import { KafkaError, type KafkaTrouble, toOncewardError, troubleOf, troubleOfCode } from './kafka-error.ts'
import { PartitionRead } from './partition-read.ts'

/**
 * Each leader may have two fetches in progress. The first waits for new records. The second serves partitions
 * that have room again or caught up meanwhile, so it waits only briefly. With one fetch alone, a partition
 * that was full for a moment made no progress for the rest of the wait.
 */
const lanes = [
  { purpose: 'poll', maxWaitMs: 500 },
  { purpose: 'fetch', maxWaitMs: 20 },
] as const

type Lane = (typeof lanes)[number]

const answerBytesMax = 16 * 1024 * 1024
/** Decoded bytes of one partition in one answer. */
const decodedBytesMax = 4 * 1024 * 1024
const retryDelayMs = 100
/** Longer than any fetch waits for new records. */
const silenceMs = 2_000
const goneDelayMs = 500
const unreadableDelayMs = 200
const unreadableTriesMax = 3
/**
 * A log without the reading position counts as truncated once leaders have answered the same for this long.
 */
const misfitMs = 3_000
/**
 * The same for a leader whose epoch is older than that of a record already read. Such a leader was replaced,
 * unless the cluster was restored.
 */
const staleMs = 10_000

export interface WireFetcherOptions {
  readonly connections: KafkaConnections
  readonly settings: Pick<TopicSettings, 'topic' | 'isolation'>
  /** Bounds of the leader's whole log, with the epoch under which it leads. */
  readonly boundsOf: (partition: number) => Promise<Bounds & { readonly leaderEpoch: number }>
  readonly events: FetchEvents
}

/**
 * Reads partitions from their leaders, with one request per partition at a time, and only while it has room.
 */
export class WireFetcher implements Fetcher {
  readonly #options: WireFetcherOptions
  readonly #events: FetchEvents
  readonly #reads = new Map<number, PartitionRead>()
  readonly #seenTo = new Map<string, number>()
  readonly #busy = new Set<string>()
  #topic: TopicDescription | null = null
  #describing = false
  /** Answers to requests from before a restart are ignored. */
  #run = 0
  #turn = 0
  #closed = false
  #timer: NodeJS.Timeout | undefined

  constructor(options: WireFetcherOptions) {
    this.#options = options
    this.#events = options.events
  }

  add(partition: number, progress: PartitionProgress, offset: number, leaderEpoch: number): void {
    const seenTo = this.#seenTo.get(seenKey(progress)) ?? 0
    this.#reads.set(partition, new PartitionRead(partition, progress, { offset, leaderEpoch, seenTo }))
    this.#pump()
  }

  remove(partition: number): void {
    const read = this.#reads.get(partition)
    if (read === undefined) return
    this.#seenTo.set(seenKey(read.progress), Math.max(read.offset, read.seenTo))
    this.#reads.delete(partition)
  }

  wake(): void {
    this.#pump()
  }

  endOf(partition: number): number | null {
    return this.#reads.get(partition)?.end ?? null
  }

  leaderEpochAt(partition: number, offset: number): number {
    return this.#reads.get(partition)?.epochBefore(offset) ?? -1
  }

  positionOf(partition: number): number | null {
    return this.#reads.get(partition)?.offset ?? null
  }

  silentMs(partition: number): number {
    const read = this.#reads.get(partition)
    // A stopped partition is not requested.
    return read === undefined || read.stopped ? 0 : performance.now() - read.answeredMs
  }

  owedMs(partition: number): number {
    const sinceMs = this.#reads.get(partition)?.owedSinceMs ?? null
    return sinceMs === null ? 0 : performance.now() - sinceMs
  }

  restart(): void {
    this.#run++
    this.#busy.clear()
    this.#topic = null
    for (const read of this.#reads.values()) read.question = null
    this.#pump()
  }

  close(): void {
    this.#closed = true
    this.#run++
    clearTimeout(this.#timer)
  }

  /** Requests everything that is wanted and not in progress from every available leader. */
  #pump(): void {
    if (this.#closed || this.#reads.size === 0) return
    const topic = this.#topic
    this.#noteOwed()
    if (topic === null) return this.#describe()
    const byLeader = new Map<number, PartitionRead[]>()
    const nowMs = performance.now()
    let earliestMs = Number.POSITIVE_INFINITY
    for (const read of this.#inTurn()) {
      if (read.question !== null || read.stopped || !this.#events.wants(read.progress)) continue
      if (read.pausedUntilMs > nowMs) {
        earliestMs = Math.min(earliestMs, read.pausedUntilMs)
        continue
      }
      const leader = topic.partitions[read.partition]?.leader ?? -1
      const isOther = read.progress.incarnation !== topic.id
      if (leader >= 0 && !isOther) {
        const others = byLeader.get(leader)
        if (others === undefined) byLeader.set(leader, [read])
        else others.push(read)
        continue
      }
      this.#pause(read, isOther ? goneDelayMs : retryDelayMs, true)
      earliestMs = Math.min(earliestMs, read.pausedUntilMs)
      if (isOther) this.#events.onTopicGone()
    }
    if (earliestMs < Number.POSITIVE_INFINITY) this.#pumpAfter(earliestMs - nowMs)
    for (const [leader, reads] of byLeader) {
      const lane = this.#laneFor(leader, reads)
      if (lane !== undefined) void this.#fetch(topic, leader, lane, reads)
    }
  }

  #noteOwed(): void {
    const nowMs = performance.now()
    for (const read of this.#reads.values()) {
      if (read.stopped || !this.#events.wants(read.progress)) read.owedSinceMs = null
      else read.owedSinceMs ??= nowMs
    }
  }

  /**
   * Partitions that caught up wait for the short fetch and are requested together with its partitions.
   * Requested separately, the others stayed with the short fetch: 45 requests a second on an idle topic.
   */
  #laneFor(leader: number, reads: readonly PartitionRead[]): Lane | undefined {
    const [poll, fetch] = lanes.map(lane => (this.#busy.has(`${leader} ${lane.purpose}`) ? undefined : lane))
    const waits = fetch === undefined && reads.every(read => read.caughtUp)
    return waits ? undefined : (poll ?? fetch)
  }

  /** Rotates the first partition, because an answer is cut when it becomes too long. */
  #inTurn(): PartitionRead[] {
    const reads = [...this.#reads.values()]
    const first = this.#turn++ % reads.length
    return [...reads.slice(first), ...reads.slice(0, first)]
  }

  async #fetch(
    { id, partitions }: TopicDescription,
    leader: number,
    lane: Lane,
    reads: readonly PartitionRead[],
  ): Promise<void> {
    const run = this.#run
    const key = `${leader} ${lane.purpose}`
    this.#busy.add(key)
    const question = {}
    for (const read of reads) read.question = question
    const { connections, settings } = this.#options
    let answers: readonly FetchedPartition[] = []
    const looking = setInterval(() => void this.#leaveLeader(leader, reads, question), silenceMs)
    try {
      const connection = await connections.connect(lane.purpose, leader)
      const answer = await fetchRecords(connection, {
        maxWaitMs: lane.maxWaitMs,
        bytesMax: answerBytesMax,
        isolation: settings.isolation,
        topicId: id,
        partitions: reads.map(read => ({
          partition: read.partition,
          currentLeaderEpoch: partitions[read.partition]!.leaderEpoch,
          fetchOffset: BigInt(read.offset),
          lastFetchedEpoch: read.lastEpoch,
          partitionMaxBytes: read.bytesMax,
        })),
      })
      answers = answer.partitions
    } catch (error) {
      const waiting = run === this.#run ? reads.filter(read => read.question === question) : []
      for (const read of waiting) this.#pause(read, retryDelayMs, true)
      if (troubleOf(error).kind === 'other') this.#events.onWarning(`fetching: ${errorText(error, 300)}`)
    }
    clearInterval(looking)
    if (run !== this.#run) return
    this.#busy.delete(key)
    const asked = reads.filter(read => read.question === question)
    for (const read of asked) read.question = null
    for (const answer of answers) {
      const read = asked.find(({ partition }) => partition === answer.partition)
      if (read !== undefined && this.#reads.get(read.partition) === read) this.#take(read, answer)
    }
    this.#pump()
  }

  /**
   * A frozen leader keeps its connections. Once the cluster names another leader, its partitions are
   * requested from that one.
   */
  async #leaveLeader(leader: number, reads: readonly PartitionRead[], question: object): Promise<void> {
    const { connections, settings } = this.#options
    const topic = await connections.findTopic(settings.topic).catch(() => null)
    const leaderOf = ({ partition }: PartitionRead) => topic?.partitions[partition]?.leader ?? -1
    const moved = reads.filter(
      read => read.question === question && leaderOf(read) >= 0 && leaderOf(read) !== leader,
    )
    if (moved.length === 0 || this.#closed) return
    this.#topic = topic
    for (const read of moved) read.question = null
    this.#pump()
  }

  #take(read: PartitionRead, answer: FetchedPartition): void {
    read.answeredMs = performance.now()
    if (answer.errorCode === 0) read.owedSinceMs = null
    if (answer.errorCode !== 0) return this.#onError(read, answer.errorCode)
    if (answer.diverging !== null) {
      const { epoch, endOffset } = answer.diverging
      if (!read.isSaidFor(`parts at ${endOffset} of ${epoch}`, this.#doubtMs(read)))
        return this.#pause(read, retryDelayMs, true)
      read.stopped = true
      const bounds = { start: Number(answer.logStartOffset), end: Number(answer.highWatermark) }
      const found = { kind: 'truncated', at: Number(endOffset), leaderEpoch: epoch, bounds } as const
      return this.#events.onOutOfRange(read.progress, read.offset, found)
    }
    if (!read.served) {
      read.served = true
      this.#events.onServed?.(read.progress, read.offset, read.lastEpoch >= 0)
    }
    const { isolation } = this.#options.settings
    read.end = Number(isolation === 'committed' ? answer.lastStableOffset : answer.highWatermark)
    try {
      const { aborted, records } = answer
      const set = decodeRecordSet(records, {
        from: read.offset,
        isolation,
        aborted,
        bytesMax: decodedBytesMax,
      })
      read.resize(set.cut)
      this.#offer(read, set)
    } catch (error) {
      if (!(error instanceof UnreadableBatch)) throw error
      this.#offer(read, error.before)
      this.#onUnreadable(read, error)
    }
  }

  #offer(read: PartitionRead, { records, next, epochs }: RecordSet): void {
    if (next <= read.offset) return
    const { progress, seenTo } = read
    read.advance(next, epochs)
    this.#events.onRecords(
      progress,
      records.map(record => toLogRecord(record, progress.partition, record.offset < seenTo)),
      next,
    )
  }

  #onUnreadable(read: PartitionRead, { message, offset, next, bytes }: UnreadableBatch): void {
    read.unreadable++
    if (read.unreadable >= unreadableTriesMax) {
      read.stopped = true
      const at = Math.max(offset, read.offset)
      return this.#events.onUnreadable(read.progress, { at, next, reason: message, bytes })
    }
    this.#events.onWarning(`${read.progress.partition}@${offset}: ${message}; fetching it again`)
    this.#pause(read, unreadableDelayMs * 2 ** read.unreadable, false)
  }

  #onError(read: PartitionRead, code: number): void {
    const trouble = troubleOfCode(code)
    const { name, kind, text } = trouble
    if (name === 'OFFSET_OUT_OF_RANGE') return void this.#compareBounds(read)
    if (kind === 'credentials') return this.#refuse(read, trouble)
    this.#pause(read, kind === 'topic' ? goneDelayMs : retryDelayMs, true)
    if (kind === 'topic') this.#events.onTopicGone()
    else if (kind !== 'leader') this.#events.onWarning(`${read.progress.partition}: ${text}`)
  }

  #refuse(read: PartitionRead, trouble: KafkaTrouble): void {
    read.stopped = true
    const { partition } = read.progress
    const error = new KafkaError(trouble, partition)
    this.#events.onRefused(toOncewardError(error, `Reading ${partition}`, 'Nothing of it was delivered.'))
  }

  /**
   * If the offset is within bounds, the leader does not know the epoch of the last record read, so its log is
   * a different one.
   */
  async #compareBounds(read: PartitionRead): Promise<void> {
    read.stopped = true
    try {
      const { leaderEpoch, ...bounds } = await this.#options.boundsOf(read.partition)
      if (this.#closed || this.#reads.get(read.partition) !== read) return
      const { offset, lastEpoch } = read
      if (offset < bounds.start)
        return this.#events.onOutOfRange(read.progress, offset, { kind: 'bounds', bounds })
      const isWithin = offset <= bounds.end
      const said = isWithin ? `strange to ${leaderEpoch}` : `ends at ${bounds.end} of ${leaderEpoch}`
      const isSure = read.isSaidFor(said, leaderEpoch < lastEpoch ? staleMs : misfitMs)
      if (isSure && !isWithin)
        return this.#events.onOutOfRange(read.progress, offset, { kind: 'bounds', bounds })
      if (isSure && lastEpoch >= 0) {
        const found = { kind: 'truncated', at: null, leaderEpoch: lastEpoch, bounds } as const
        return this.#events.onOutOfRange(read.progress, offset, found)
      }
    } catch {
      // The leader is unavailable or moves; the check is repeated.
    }
    read.stopped = false
    this.#pause(read, retryDelayMs, true)
    this.#pump()
  }

  /** How long a leader must answer the same before the answer counts. */
  #doubtMs({ partition, lastEpoch }: PartitionRead): number {
    const leaderEpoch = this.#topic?.partitions[partition]?.leaderEpoch ?? -1
    return leaderEpoch < lastEpoch ? staleMs : misfitMs
  }

  /** The caller calls `#pump` afterwards, which finds the earliest end of all pauses. */
  #pause(read: PartitionRead, delayMs: number, describeAnew: boolean): void {
    if (describeAnew) this.#topic = null
    read.pausedUntilMs = performance.now() + delayMs
  }

  #pumpAfter(delayMs: number): void {
    clearTimeout(this.#timer)
    if (!this.#closed) this.#timer = setTimeout(() => this.#pump(), Math.max(1, delayMs))
  }

  #describe(): void {
    if (this.#describing) return
    this.#describing = true
    const { connections, settings } = this.#options
    connections
      .findTopic(settings.topic)
      .then(
        topic => {
          this.#topic = topic
          if (topic === null) this.#events.onTopicGone()
        },
        () => {},
      )
      .finally(() => {
        this.#describing = false
        if (this.#topic === null) this.#pumpAfter(goneDelayMs)
        else this.#pump()
      })
  }
}

function seenKey({ partition, incarnation }: PartitionProgress): string {
  return `${incarnation} ${partition}`
}
