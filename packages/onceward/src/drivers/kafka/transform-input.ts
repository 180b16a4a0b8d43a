import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../../environment.ts'
import { errorText, OncewardError } from '../../errors.ts'
import type { LogRecord } from '../../ports/log-record.ts'
import type { Checkpoints, PartitionLag, Stall } from '../../ports/source.ts'
import type { TransformStop } from '../../ports/transform.ts'
import { brokenRecord, keptBytesMax } from '../log/broken-record.ts'
import { LogDelivery } from '../log/log-delivery.ts'
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
import {
  bytesOf,
  type InputBatch,
  type InputLease,
  partOf,
  putBack,
  type TakenRecords,
  takeRecords,
} from './input-batch.ts'
import { lossError, outOfRange, unreadable } from './loss.ts'
import { readerStall } from './reader-stall.ts'
import { type TakeOptions, takePartitions, unstarted } from './take-partitions.ts'
import type { TopicSettings } from './topic.ts'
import { Watchdog } from './watchdog.ts'

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
  readonly onReceived: (count: number) => void
  /** Delivers a batch that cannot be decoded as one unreadable record. False: such a batch halts. */
  readonly keepsUnreadable: boolean
}

const readAheadBytesMax = 1024 * 1024
const takeRetryMs = 300
const timerMaxMs = 60_000

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
  /** When partitions that stopped are delivered again. Survives a rewind, so that no delay is shortened. */
  readonly #resumeMs = new Map<number, number>()
  #turn = 0
  #closed = false
  #connected = false
  /** When the group last confirmed this member. */
  #groupMs = performance.now()
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
      await this.pause(this.#nextResumeMs())
    }
  }

  /** Waits until new records arrive, the input is stopped, or the time has passed. */
  async pause(delayMs: number | null): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wakeUp = resolve
    if (this.#closed) return
    const timer = delayMs === null ? null : setTimeout(resolve, Math.min(timerMaxMs, Math.max(1, delayMs)))
    await promise
    if (timer !== null) clearTimeout(timer)
  }

  /** False once another member owns one of its partitions, or the membership has ended. */
  isOurs({ leases, member }: InputBatch): boolean {
    this.#membership.refresh()
    return member.live && [...leases.keys()].every(lease => this.#leases.get(lease.partition) === lease)
  }

  /**
   * The part of a batch before its stops. The rest is delivered again after the delay of its stop, in order.
   * A partition that stops at its first record is not part of the result.
   */
  narrow(batch: InputBatch, stops: ReadonlyMap<string, TransformStop>): InputBatch {
    if (stops.size === 0) return batch
    const leases = new Map<InputLease, TakenRecords>()
    for (const [lease, taken] of batch.leases) {
      const stop = stops.get(lease.progress.partition)
      const done = stop === undefined ? taken : this.#giveBack(lease, taken, stop)
      if (done.records.length > 0) leases.set(lease, done)
    }
    return { ...partOf(batch, leases), offsets: this.#offsets(leases) }
  }

  /** The batch's transaction has ended, committed or not. */
  conclude(batch: InputBatch, committed: boolean): void {
    if (committed) for (const [lease, { next }] of batch.leases) lease.progress.pass(String(next))
    for (const lease of this.#leases.values()) lease.open = null
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

  get connected(): boolean {
    return this.#connected
  }

  lag(): readonly PartitionLag[] {
    return [...this.#leases.values()].map(({ partition, progress, open, records }) => {
      const end = this.#fetcher.endOf(partition)
      return {
        partition: progress.partition,
        behind: end === null ? null : Math.max(0, end - Number(progress.position)),
        oldestMs: (open ?? records[0])?.properties.timestampMs ?? null,
      }
    })
  }

  stalled(): Stall | null {
    return readerStall({
      settings: this.#options.settings,
      fetcher: this.#fetcher,
      watchdog: this.#watchdog,
      groupMs: this.#groupMs,
      reading: [...this.#leases.values()].filter(({ progress }) => this.wants(progress)),
      unread: [],
    })
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
    for (const partition of partitions) {
      this.#stopReading(partition)
      this.#resumeMs.delete(partition)
    }
    await this.#ended?.promise
    // A partition that was lost and assigned again meanwhile is not part of this revocation.
    this.#drop(partitions.filter(partition => !this.#assignments.has(partition)))
  }

  onLost(partitions: readonly number[], reason: string): void {
    this.#options.log.warn('partitions lost; their open records are not committed', { partitions, reason })
    for (const partition of partitions) this.#resumeMs.delete(partition)
    this.#drop(partitions)
  }

  onConnected(): void {
    this.#groupMs = performance.now()
    this.#connected = true
  }

  onDisconnected(reason: string): void {
    this.#connected = false
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
    lease.bytes += bytesOf(records)
    lease.readOn = readOn
    this.#options.onReceived(records.length)
    if (records.length > 0) this.#wake()
  }

  onOutOfRange(progress: PartitionProgress, at: number, found: OutOfRange): void {
    const from = { incarnation: progress.incarnation, next: String(at) }
    const loss = outOfRange(progress.partition, from, found, 'broker')
    if (loss !== null) this.#options.onHalt(lossError([loss]))
  }

  onUnreadable(progress: PartitionProgress, { at, next, reason, bytes }: UnreadableAt): void {
    const { partition } = progress
    if (!this.#options.keepsUnreadable || next === null || bytes.length > keptBytesMax) {
      const from = { incarnation: progress.incarnation, next: progress.position }
      return this.#options.onHalt(lossError([unreadable(partition, from, at, next, reason)]))
    }
    const number = this.#leaseOf(progress)?.partition
    if (number === undefined) return
    const broken = { partition, offset: at, records: next - at, bytes, problem: reason, redelivered: false }
    this.onWarning(`${partition}@${at}: ${reason}; its bytes are delivered as one unreadable record`)
    const leaderEpoch = this.#fetcher.leaderEpochAt(number, at)
    this.#fetcher.remove(number)
    this.onRecords(progress, [brokenRecord(broken)], next)
    this.#fetcher.add(number, progress, next, leaderEpoch)
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
      const reading = { records: [], bytes: 0, readOn: offset, stopped: false, open: null }
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
    const nowMs = performance.now()
    const ready = [...this.#leases.values()].filter(
      ({ partition, records, stopped }) =>
        records.length > 0 && !stopped && (this.#resumeMs.get(partition) ?? 0) <= nowMs,
    )
    if (ready.length === 0) return null
    const first = this.#turn++ % ready.length
    const { member } = ready[first]!
    const deliveries: LogDelivery[] = []
    const leases = new Map<InputLease, TakenRecords>()
    for (const lease of [...ready.slice(first), ...ready.slice(0, first)]) {
      if (lease.member !== member || deliveries.length >= max) continue
      this.#resumeMs.delete(lease.partition)
      const taken = takeRecords(lease, max - deliveries.length)
      for (const record of taken.records)
        deliveries.push(new LogDelivery(record, lease.progress, this.#options.settings.topic))
      leases.set(lease, taken)
    }
    this.#fetcher.wake()
    return { records: deliveries, offsets: this.#offsets(leases), member, leases }
  }

  #giveBack(lease: InputLease, { records }: TakenRecords, { at, delayMs }: TransformStop): TakenRecords {
    const done = records.filter(record => Number(record.at) < at)
    if (this.#leases.get(lease.partition) === lease && !lease.stopped) {
      putBack(lease, records.slice(done.length))
      // Without a delay a partition that makes no progress would keep the event loop, and the heartbeats.
      const waitMs = done.length === 0 ? Math.max(1, delayMs) : delayMs
      if (waitMs > 0) this.#resumeMs.set(lease.partition, performance.now() + waitMs)
    }
    return { records: done, next: at }
  }

  /** Null when no partition waits. */
  #nextResumeMs(): number | null {
    const waiting = [...this.#leases.values()].flatMap(({ partition, records }) =>
      records.length > 0 ? (this.#resumeMs.get(partition) ?? []) : [],
    )
    return waiting.length === 0 ? null : Math.min(...waiting) - performance.now()
  }

  #offsets(leases: ReadonlyMap<InputLease, TakenRecords>): readonly ConsumedOffset[] {
    return [...leases].map(([{ partition, metadata }, { next }]) => ({
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
