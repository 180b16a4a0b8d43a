import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../../environment.ts'
import { errorText, OncewardError } from '../../errors.ts'
import type { LogRecord } from '../../ports/log-record.ts'
import type { Checkpoints } from '../../ports/source.ts'
import { PartitionProgress } from '../log/partition-progress.ts'
import type {
  FetchEvents,
  Fetcher,
  KafkaClient,
  Member,
  Membership,
  MembershipEvents,
  OutOfRange,
  UnreadableAt,
} from './client/kafka-client.ts'
import { troubleOf } from './client/kafka-error.ts'
import type { ConsumedOffset } from './client/transactions.ts'
import type { PartitionLease } from './committer.ts'
import { lossError, outOfRange, unreadable } from './loss.ts'
import { type TakeOptions, takePartitions, unstarted } from './take-partitions.ts'
import type { TopicSettings } from './topic.ts'
import { type KafkaTransformInput, toInput } from './transform-records.ts'
import { Watchdog } from './watchdog.ts'

/** Records of one transaction and the offsets after them. */
export interface InputBatch {
  readonly records: readonly KafkaTransformInput[]
  readonly offsets: readonly ConsumedOffset[]
  /**
   * The membership when the records were taken: the broker refuses the offsets of a member that has left
   * since.
   */
  readonly member: Member
  readonly leases: ReadonlyMap<InputLease, number>
}

export interface TransformInputOptions {
  readonly client: KafkaClient
  readonly settings: TopicSettings
  readonly partitions: number
  readonly log: Log
  /**
   * Commits where unread partitions begin, in a transaction: a plain commit could arrive late and move them
   * back.
   */
  readonly begin: (member: Member, offsets: readonly ConsumedOffset[]) => Promise<void>
  /** Offsets of these partitions stay pending: ends their transaction, if it belongs to this process. */
  readonly endPending: (offsets: ReadonlyMap<number, number>) => Promise<void>
  readonly onHalt: (error: OncewardError) => void
}

interface InputLease extends PartitionLease {
  records: LogRecord[]
  bytes: number
  readOn: number
  stopped: boolean
}

const readAheadBytesMax = 1024 * 1024
const recordOverhead = 200
const takeRetryMs = 300

/** A transform has no store; only the group's commits are known. */
const nothingStored: Checkpoints = {
  take: async partitions =>
    partitions.map(partition => ({ partition, epoch: 0, lastRun: null, stored: null, resumeAt: null })),
  begin: async () => {},
  declareLoss: async () => {},
  withdrawLoss: async () => {},
}

/**
 * Reads a topic as a group member, for transactions that commit the offsets themselves. At most one batch is
 * outstanding. A revoked partition waits for its transaction to end; a lost partition does not.
 */
export class TransformInput implements MembershipEvents, FetchEvents {
  readonly #options: TransformInputOptions
  readonly #take: TakeOptions
  readonly #leases = new Map<number, InputLease>()
  readonly #assignments = new Map<number, object>()
  readonly #fetcher: Fetcher
  readonly #membership: Membership
  readonly #watchdog: Watchdog
  #turn = 0
  #closed = false
  #ended: PromiseWithResolvers<void> | null = null
  #wakeUp: (() => void) | null = null

  constructor(options: TransformInputOptions) {
    const { client, settings, partitions } = options
    this.#options = options
    this.#take = { client, settings, log: { progress: 'broker', checkpoints: nothingStored } }
    this.#fetcher = client.fetcher(this)
    this.#membership = client.join(this)
    this.#watchdog = new Watchdog({
      client,
      partitions,
      fetcher: this.#fetcher,
      leases: () => [...this.#leases.values()].filter(({ progress }) => this.wants(progress)),
      unread: () => [...this.#assignments.keys()].filter(partition => !this.#leases.has(partition)),
      onStall: (reason, isWorse) => {
        this.onWarning(reason)
        this.#fetcher.restart()
        if (isWorse) this.#membership.rejoin(reason)
      },
      onPartitions: () => this.#membership.partitionsAdded(),
    })
  }

  /** Waits for records; null once closed. Call `conclude` before the next call. */
  async next(max: number): Promise<InputBatch | null> {
    for (;;) {
      if (this.#closed) return null
      this.#membership.refresh()
      const batch = this.#collect(max)
      if (batch !== null) {
        this.#ended = Promise.withResolvers()
        return batch
      }
      await new Promise<void>(resolve => {
        this.#wakeUp = resolve
      })
    }
  }

  /** False once another member owns one of its partitions, or the membership has ended. */
  isOurs({ leases, member }: InputBatch): boolean {
    this.#membership.refresh()
    return member.live && [...leases.keys()].every(lease => this.#leases.get(lease.partition) === lease)
  }

  /** The batch's transaction has ended, committed or not. */
  conclude(batch: InputBatch, committed: boolean): void {
    if (committed) for (const [lease, next] of batch.leases) lease.progress.pass(String(next))
    this.#ended?.resolve()
    this.#ended = null
  }

  /**
   * Discards the records that were read and resumes at the group's committed offsets, which are unknown
   * locally.
   */
  rewind(): void {
    const staying = [...this.#leases.values()].filter(({ stopped }) => !stopped)
    for (const [member, leases] of Map.groupBy(staying, lease => lease.member)) {
      const partitions = leases.map(({ partition }) => partition)
      this.#drop(partitions)
      this.onAssigned(partitions, member)
    }
  }

  /** Delivers no further batch. */
  stop(): void {
    this.#closed = true
    this.#wake()
  }

  async close(): Promise<void> {
    this.stop()
    this.#watchdog.close()
    this.#fetcher.close()
    await this.#membership.leave()
    await this.#options.client.close()
  }

  onAssigned(partitions: readonly number[], member: Member): void {
    const assignment = {}
    for (const partition of partitions) this.#assignments.set(partition, assignment)
    void this.#own(partitions, member, assignment)
  }

  async onRevoked(partitions: readonly number[]): Promise<void> {
    for (const partition of partitions) this.#stopReading(partition)
    await this.#ended?.promise
    // A partition that was lost and assigned again meanwhile is not part of this revocation.
    this.#drop(partitions.filter(partition => !this.#assignments.has(partition)))
  }

  onLost(partitions: readonly number[], reason: string): void {
    this.#options.log.warn('partitions lost; their open records are not committed', { partitions, reason })
    this.#drop(partitions)
  }

  onConnected(): void {}

  onDisconnected(reason: string): void {
    this.onWarning(reason)
  }

  onWarning(reason: string): void {
    this.#options.log.warn('reading', { topic: this.#options.settings.topic, reason })
  }

  onRefused(error: OncewardError): void {
    this.#options.onHalt(error)
  }

  wants(progress: PartitionProgress): boolean {
    const lease = this.#leaseOf(progress)
    return lease !== null && !lease.stopped && lease.bytes < readAheadBytesMax
  }

  onRecords(progress: PartitionProgress, records: readonly LogRecord[], readOn: number): void {
    const lease = this.#leaseOf(progress)
    if (lease === null || lease.stopped) return
    lease.records.push(...records)
    lease.bytes += records.reduce((bytes, { body }) => bytes + body.length + recordOverhead, 0)
    lease.readOn = readOn
    if (records.length > 0) this.#wake()
  }

  onOutOfRange(progress: PartitionProgress, at: number, found: OutOfRange): void {
    const from = { incarnation: progress.incarnation, next: String(at) }
    const loss = outOfRange(progress.partition, from, found, 'broker')
    if (loss !== null) this.#options.onHalt(lossError([loss]))
  }

  /** A transform has no place to keep an unreadable batch. */
  onUnreadable(progress: PartitionProgress, { at, next, reason }: UnreadableAt): void {
    const from = { incarnation: progress.incarnation, next: progress.position }
    this.#options.onHalt(lossError([unreadable(progress.partition, from, at, next, reason)]))
  }

  onTopicGone(): void {
    this.onWarning('the topic does not exist, or was created again under the same name')
  }

  async #own(partitions: readonly number[], member: Member, assignment: object): Promise<void> {
    // Excludes partitions that are already read: reading them again from an earlier offset would duplicate
    // records.
    const ours = () =>
      partitions.filter(
        partition => this.#assignments.get(partition) === assignment && !this.#leases.has(partition),
      )
    while (ours().length > 0 && member.live && !this.#closed) {
      try {
        return await this.#place(ours(), member, assignment)
      } catch (error) {
        if (error instanceof OncewardError && isFinal(error)) return this.#options.onHalt(error)
        this.onWarning(errorText(error, 300))
        if (troubleOf(error).name === 'UNSTABLE_OFFSET_COMMIT') await this.#endPending(ours(), member)
        await sleep(takeRetryMs)
      }
    }
  }

  async #endPending(partitions: readonly number[], member: Member): Promise<void> {
    const { client, endPending } = this.#options
    try {
      const stable = await client.committed(partitions, member, { pending: 'ignored' })
      await endPending(new Map([...stable].map(([partition, { offset }]) => [partition, offset])))
    } catch (error) {
      this.onWarning(errorText(error, 300))
    }
  }

  async #place(partitions: readonly number[], member: Member, assignment: object): Promise<void> {
    const { client, settings, begin } = this.#options
    const all = await takePartitions(this.#take, partitions, member)
    const known = await client.committed(partitions, member)
    for (const { decision, incarnation, partition, name, metadata } of all) {
      if (decision.kind === 'lost') throw lossError([decision.loss])
      if (decision.kind === 'unstarted') throw unstarted(settings)
      const { offset, leaderEpoch } = decision
      const start = { topic: settings.topic, partition, next: BigInt(offset), leaderEpoch: -1, metadata }
      if (!known.has(partition)) await begin(member, [start])
      if (this.#assignments.get(partition) !== assignment || this.#closed) continue
      const position = { incarnation, next: String(offset) }
      const progress = new PartitionProgress(name, 0, position)
      const reading = { records: [], bytes: 0, readOn: offset, stopped: false }
      this.#leases.set(partition, {
        partition,
        progress,
        member,
        metadata,
        confirmed: position.next,
        ...reading,
      })
      this.#fetcher.add(partition, progress, offset, leaderEpoch)
    }
  }

  /** Collects from one partition after another, starting after the one that was served first last time. */
  #collect(max: number): InputBatch | null {
    const ready = [...this.#leases.values()].filter(({ records, stopped }) => records.length > 0 && !stopped)
    if (ready.length === 0) return null
    const first = this.#turn++ % ready.length
    const { member } = ready[first]!
    const records: KafkaTransformInput[] = []
    const leases = new Map<InputLease, number>()
    for (const lease of [...ready.slice(first), ...ready.slice(0, first)]) {
      if (lease.member !== member || records.length >= max) continue
      const some = lease.records.splice(0, max - records.length)
      lease.bytes -= some.reduce((bytes, { body }) => bytes + body.length + recordOverhead, 0)
      for (const record of some) records.push(toInput(record, this.#options.settings.topic, lease.partition))
      leases.set(lease, lease.records.length === 0 ? lease.readOn : Number(some.at(-1)!.next))
    }
    this.#fetcher.wake()
    return { records, offsets: this.#offsets(leases), member, leases }
  }

  #offsets(leases: ReadonlyMap<InputLease, number>): readonly ConsumedOffset[] {
    return [...leases].map(([{ partition, metadata }, next]) => ({
      topic: this.#options.settings.topic,
      partition,
      next: BigInt(next),
      leaderEpoch: this.#fetcher.leaderEpochAt(partition, next),
      metadata,
    }))
  }

  #leaseOf(progress: PartitionProgress): InputLease | null {
    const lease = this.#leases.get(Number(progress.partition.slice(progress.partition.lastIndexOf('/') + 1)))
    return lease?.progress === progress ? lease : null
  }

  #stopReading(partition: number): void {
    this.#assignments.delete(partition)
    this.#fetcher.remove(partition)
    const lease = this.#leases.get(partition)
    if (lease !== undefined) Object.assign(lease, { stopped: true, records: [], bytes: 0 })
  }

  #drop(partitions: readonly number[]): void {
    for (const partition of partitions) {
      this.#stopReading(partition)
      this.#leases.get(partition)?.progress.end()
      this.#leases.delete(partition)
    }
  }

  #wake(): void {
    const wakeUp = this.#wakeUp
    this.#wakeUp = null
    wakeUp?.()
  }
}

function isFinal({ code }: OncewardError): boolean {
  return code === 'configuration' || code === 'records_lost'
}
