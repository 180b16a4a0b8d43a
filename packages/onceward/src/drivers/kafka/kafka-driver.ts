import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../../environment.ts'
import { errorText, OncewardError } from '../../errors.ts'
import type { LogRecord } from '../../ports/log-record.ts'
import type { Loss, OpenLoss, OpenOptions, Position, Stall } from '../../ports/source.ts'
import { brokenRecord, keptBytesMax } from '../log/broken-record.ts'
import { type LogDriver, LogSubscription } from '../log/log-subscription.ts'
import { declaredAgain, withdrawLossAt } from '../log/open-loss.ts'
import { PartitionProgress } from '../log/partition-progress.ts'
import { AddedPartitions } from './added-partitions.ts'
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
import { Committer, type PartitionLease } from './committer.ts'
import type { Silences } from './find-stall.ts'
import { lossError, outOfRange, recreated, unreadable } from './loss.ts'
import { readerStall } from './reader-stall.ts'
import {
  beginPartition,
  partitionName,
  type TakenPartition,
  type TakeOptions,
  takePartitions,
  unstarted,
} from './take-partitions.ts'
import type { TopicSettings } from './topic.ts'
import { Watchdog } from './watchdog.ts'

export interface DriverOptions {
  readonly client: KafkaClient
  readonly settings: TopicSettings
  readonly open: OpenOptions
  readonly log: Log
  /** Partitions of the topic when it was opened. */
  readonly partitions: number
}

const takeRetryMs = 300
const lastCommitMs = 3_000
/** Pause between commits. The broker's position is only a hint when the store keeps it. */
const restMs = { broker: 100, first: 0, store: 1_000, only: 1_000 } as const

/**
 * Reads one topic as a member of its group and feeds a subscription.
 *
 *   assigned ─▶ taken: offsets, store, decision ─▶ owned, fetched ─▶ revoked: drained, committed ─▶ dropped
 *                 └─ position not in the log:                  └─▶ lost: dropped, nothing committed
 *                    loss declared, receive rejects
 */
export class KafkaDriver implements LogDriver, MembershipEvents, FetchEvents {
  readonly origin: string
  readonly commitsToBroker = true
  readonly subscription: LogSubscription
  readonly #options: DriverOptions
  readonly #settings: TopicSettings
  readonly #take: TakeOptions
  readonly #leases = new Map<number, PartitionLease>()
  /** Partitions that the group assigned, with the taking in progress. */
  readonly #assignments = new Map<number, Assignment>()
  readonly #committer: Committer
  readonly #fetcher: Fetcher
  readonly #membership: Membership
  readonly #watchdog: Watchdog
  readonly #warned = new Set<string>()
  readonly #added: AddedPartitions
  /** Unreadable batches with unfinished records before them. */
  readonly #unreadable = new WeakMap<PartitionProgress, UnreadableAt>()
  /** Losses declared earlier, until the log proves to have their records. */
  readonly #openLosses = new WeakMap<PartitionProgress, OpenLoss>()
  /** Partitions whose log is known to be the one that was read, by the age of its records. */
  readonly #sameLogs = new WeakSet<PartitionProgress>()
  #connected = false
  /** When the group last confirmed this member. */
  #groupMs = performance.now()
  #lookingForTopic = false
  #closing: Promise<void> | null = null

  constructor(options: DriverOptions) {
    const { client, settings, open } = options
    this.#options = options
    this.#settings = settings
    this.origin = settings.topic
    this.#take = { client, settings, log: open.log }
    this.subscription = new LogSubscription(open, this)
    this.#fetcher = client.fetcher(this)
    this.#committer = new Committer({
      send: async (offsets, member) => {
        const answer = await client.commit(offsets, member)
        open.log.onPositionCommit?.(answer.kind === 'confirmed')
        return answer
      },
      leaderEpochAt: (partition, offset) => this.#fetcher.leaderEpochAt(partition, offset),
      restMs: restMs[open.log.progress],
      onTrouble: reason => this.onWarning(`committing offsets of ${settings.group}: ${reason}`),
    })
    this.#added = new AddedPartitions({
      client,
      settings,
      log: options.log,
      ordersKeys: open.log.ordersKeys === true,
      onWarning: reason => this.onWarning(reason),
    })
    this.#membership = client.join(this)
    this.#watchdog = new Watchdog({
      client,
      partitions: options.partitions,
      fetcher: this.#fetcher,
      leases: () => [...this.#leases.values()].filter(({ progress }) => this.wants(progress)),
      unread: () => this.#unread(),
      onStall: (reason, isWorse) => this.#rebuild(reason, isWorse),
      onPartitions: (before, after) => this.#onPartitions(before, after),
    })
  }

  // ── as a log driver ──

  async commit(moved: readonly PartitionProgress[]): Promise<{ readonly missed: number }> {
    const leases = moved.flatMap(progress => this.#leaseOf(progress) ?? [])
    for (const { progress } of leases) this.#declareUnreadable(progress)
    if (this.#options.open.log.progress === 'first') {
      return { missed: moved.length - leases.length + (await this.#committer.commit(leases)) }
    }
    for (const lease of leases) this.#committer.note(lease)
    return { missed: 0 }
  }

  onRoom(): void {
    this.#fetcher.wake()
  }

  behind({ partition, position }: PartitionProgress): number | null {
    const end = this.#fetcher.endOf(numberOf(partition))
    return end === null ? null : Math.max(0, end - Number(position))
  }

  stalled(): Stall | null {
    return readerStall({
      settings: this.#settings,
      fetcher: this.#fetcher,
      watchdog: this.#watchdog,
      groupMs: this.#groupMs,
      reading: [...this.#leases.values()].filter(({ progress }) => this.wants(progress)),
      unread: this.#unread().map(partition => this.#describeUnread(partition)),
    })
  }

  waitingPartitions(): number {
    return this.#added.waiting
  }

  refresh(): void {
    this.#membership.refresh()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  // ── what the group says ──

  onAssigned(partitions: readonly number[], member: Member): void {
    const assignment = { member, takingSinceMs: performance.now() }
    for (const partition of partitions) this.#assignments.set(partition, assignment)
    void this.#own(partitions, assignment)
  }

  async onRevoked(partitions: readonly number[]): Promise<void> {
    const names = partitions.map(partition => partitionName(this.#settings, partition))
    for (const name of names) this.subscription.stop(name)
    for (const partition of partitions) this.#assignments.delete(partition)
    const { rebalanceTimeoutMs } = this.#settings
    // A partition that was lost and assigned again meanwhile is not part of this revocation.
    const going = () => partitions.filter(partition => !this.#assignments.has(partition))
    await within(rebalanceTimeoutMs / 2, this.#options.open.log.onRevoke(names))
    const leases = going().flatMap(partition => this.#leases.get(partition) ?? [])
    await within(Math.min(lastCommitMs, rebalanceTimeoutMs / 4), this.#committer.commit(leases))
    this.#drop(going(), 'they go to another member of the group', { orderly: true })
  }

  onLost(partitions: readonly number[], reason: string): void {
    this.#drop(partitions, `lost: ${reason}`)
  }

  onConnected(): void {
    this.#groupMs = performance.now()
    if (this.#connected) return
    this.#connected = true
    this.#warned.clear()
    this.#options.open.onEvent({ kind: 'connected' })
  }

  onDisconnected(reason: string): void {
    if (this.#connected) this.#options.open.onEvent({ kind: 'disconnected', reason })
    this.#connected = false
  }

  onWarning(reason: string): void {
    if (this.#warned.has(reason)) return
    this.#warned.add(reason)
    this.#options.open.onEvent({ kind: 'warning', reason })
  }

  onRefused(error: OncewardError): void {
    this.#halt(error)
  }

  // ── what the log says ──

  wants(progress: PartitionProgress): boolean {
    const { partition } = progress
    return this.subscription.progressOf(partition) === progress && this.subscription.wants(partition)
  }

  onRecords(progress: PartitionProgress, records: readonly LogRecord[], readOn: number): void {
    const before = progress.position
    this.subscription.offer(progress, records, String(readOn))
    if (progress.position === before) return
    const lease = this.#leaseOf(progress)
    if (lease !== null) this.#committer.note(lease)
  }

  onServed(progress: PartitionProgress, offset: number, sameLog: boolean): void {
    const openLoss = this.#openLosses.get(progress)
    if (openLoss === undefined) return
    const { partition, epoch, incarnation } = progress
    const position = { incarnation, next: String(offset) }
    const { checkpoints } = this.#options.open.log
    const isSameLog = sameLog || this.#sameLogs.has(progress)
    withdrawLossAt(checkpoints, { partition, epoch, openLoss }, position, { isSameLog }).catch(error =>
      this.#options.log.warn('a withdrawn loss could not be closed', {
        partition,
        reason: errorText(error, 300),
      }),
    )
  }

  onOutOfRange(progress: PartitionProgress, at: number, found: OutOfRange): void {
    const { log } = this.#options.open
    const settled = standing(progress)
    const loss =
      outOfRange(progress.partition, settled, found, log.progress) ??
      outOfRange(progress.partition, { ...settled, next: String(at) }, found, log.progress)
    if (loss !== null) void this.#declare([declaredAgain(loss, this.#openLosses.get(progress))])
  }

  /**
   * Delivers an unreadable batch with its bytes in place of its records, when they fit; the engine
   * quarantines it. Otherwise it is a loss, declared after the records before it are finished, because an
   * accepted loss resumes behind it.
   */
  onUnreadable(progress: PartitionProgress, batch: UnreadableAt): void {
    const { at, next, reason, bytes } = batch
    if (next === null || bytes.length > keptBytesMax) {
      this.#unreadable.set(progress, batch)
      return this.#declareUnreadable(progress)
    }
    const { partition } = progress
    const number = numberOf(partition)
    const broken = { partition, offset: at, records: next - at, bytes, problem: reason, redelivered: false }
    this.onWarning(`${partition}@${at}: ${reason}; its bytes are delivered as one unreadable record`)
    const leaderEpoch = this.#fetcher.leaderEpochAt(number, at)
    this.#fetcher.remove(number)
    this.onRecords(progress, [brokenRecord(broken)], next)
    this.#fetcher.add(number, progress, next, leaderEpoch)
  }

  #declareUnreadable(progress: PartitionProgress): void {
    const found = this.#unreadable.get(progress)
    if (found === undefined || Number(progress.position) < found.at) return
    this.#unreadable.delete(progress)
    const { at, next, reason } = found
    void this.#declare([unreadable(progress.partition, standing(progress), at, next, reason)])
  }

  /** Verifies first that the topic is gone, because brokers may learn of a new topic late. */
  onTopicGone(): void {
    if (this.#lookingForTopic) return
    this.#lookingForTopic = true
    void this.#lookForTopic()
      .catch(() => {})
      .finally(() => {
        this.#lookingForTopic = false
      })
  }

  async #lookForTopic(): Promise<void> {
    const { client } = this.#options
    const facts = await client.describe()
    if (facts === null) {
      const reason = `topic ${this.#settings.topic} no longer exists`
      if (this.#warned.has(reason)) return
      this.#warned.add(reason)
      return this.#options.open.onEvent({ kind: 'cancelled', reason })
    }
    const orphans = [...this.#leases.values()].filter(({ progress }) => progress.incarnation !== facts.id)
    if (orphans.length === 0) return
    const bounds = await client.bounds([0])
    await this.#declare(
      orphans.map(({ progress }) =>
        recreated(progress.partition, standing(progress), facts.id, bounds.get(0)!),
      ),
    )
  }

  async #own(partitions: readonly number[], assignment: Assignment): Promise<void> {
    assignment.takingSinceMs = performance.now()
    await this.#takeAndPlace(partitions, assignment)
    assignment.takingSinceMs = null
  }

  async #takeAndPlace(partitions: readonly number[], assignment: Assignment): Promise<void> {
    // Excludes partitions that are already read: taking them again would end the ownership they are read
    // under.
    const ours = () =>
      partitions.filter(
        partition => this.#assignments.get(partition) === assignment && this.#isUnread(partition),
      )
    const { member } = assignment
    while (ours().length > 0 && member.live && this.#closing === null) {
      try {
        const taken = await takePartitions(this.#take, ours(), member)
        return await this.#place(taken, assignment)
      } catch (error) {
        if (error instanceof OncewardError && error.code === 'configuration') return this.#halt(error)
        this.#options.log.warn('partitions not taken yet', { reason: errorText(error, 300) })
        await sleep(takeRetryMs)
      }
    }
  }

  async #place(taken: readonly TakenPartition[], assignment: Assignment): Promise<void> {
    const losses = taken.flatMap(({ decision }) => (decision.kind === 'lost' ? [decision.loss] : []))
    if (losses.length > 0) return this.#declare(losses)
    if (taken.some(({ decision }) => decision.kind === 'unstarted')) throw unstarted(this.#settings)
    const names: string[] = []
    for (const one of taken) {
      const { decision, incarnation, partition, name } = one
      if (decision.kind !== 'read') continue
      if (decision.isNew && one.wasAdded && this.#added.mustWait(partition)) {
        void this.#ownOnceDrained(partition, assignment)
        continue
      }
      const position = { incarnation, next: String(decision.offset) }
      if (decision.isNew) await beginPartition(this.#take, one, position, assignment.member)
      if (this.#assignments.get(partition) !== assignment || this.#closing !== null) continue
      this.#start(one, position, decision.leaderEpoch, assignment.member)
      names.push(name)
    }
    if (names.length > 0)
      this.#options.open.onEvent({ kind: 'assigned', partitions: names, reason: 'by the group' })
  }

  /** Takes the partition again afterwards, because another member may have owned it meanwhile. */
  async #ownOnceDrained(partition: number, assignment: Assignment): Promise<void> {
    const waits = () => this.#assignments.get(partition) === assignment && this.#closing === null
    if (await this.#added.untilDrained(partition, assignment, waits)) await this.#own([partition], assignment)
  }

  #start(
    { partition, name, epoch, metadata, openLoss, isSameLog }: TakenPartition,
    position: Position,
    leaderEpoch: number,
    member: Member,
  ): void {
    const progress = new PartitionProgress(name, epoch, position)
    if (openLoss !== undefined && !openLoss.accepted) this.#openLosses.set(progress, openLoss)
    if (isSameLog) this.#sameLogs.add(progress)
    this.#leases.set(partition, { partition, progress, member, metadata, confirmed: position.next })
    this.subscription.own(progress)
    this.#fetcher.add(partition, progress, Number(position.next), leaderEpoch)
  }

  #drop(partitions: readonly number[], reason: string, how: { readonly orderly?: true } = {}): void {
    const names: string[] = []
    for (const partition of partitions) {
      this.#assignments.delete(partition)
      this.#fetcher.remove(partition)
      if (!this.#leases.delete(partition)) continue
      const name = partitionName(this.#settings, partition)
      this.subscription.drop(name)
      names.push(name)
    }
    if (names.length > 0) this.#options.open.onEvent({ kind: 'revoked', partitions: names, reason, ...how })
  }

  #leaseOf(progress: PartitionProgress): PartitionLease | null {
    const lease = this.#leases.get(numberOf(progress.partition))
    return lease?.progress === progress ? lease : null
  }

  async #declare(losses: readonly Loss[]): Promise<void> {
    try {
      for (const loss of losses) await this.#options.open.log.checkpoints.declareLoss(loss)
    } catch (error) {
      this.#options.log.error('a loss could not be recorded', { reason: errorText(error, 300) })
    }
    this.#halt(lossError(losses))
  }

  #halt(error: OncewardError): void {
    this.#watchdog.close()
    this.subscription.fail(error)
  }

  /**
   * Assigned partitions that are not read: they are still being taken, or the store recorded another owner.
   */
  #unread(): number[] {
    return [...this.#assignments.keys()].filter(
      partition => this.#isUnread(partition) && !this.#added.isWaiting(partition),
    )
  }

  #describeUnread(partition: number): Silences['unread'][number] {
    const sinceMs = this.#assignments.get(partition)?.takingSinceMs ?? null
    return {
      name: partitionName(this.#settings, partition),
      isTaking: sinceMs !== null,
      forMs: sinceMs === null ? this.#watchdog.unreadMs(partition) : performance.now() - sinceMs,
    }
  }

  #isUnread(partition: number): boolean {
    return this.#leases.get(partition)?.progress.live !== true
  }

  #rebuild(reason: string, isWorse: boolean): void {
    this.#warned.delete(reason)
    this.onWarning(reason)
    for (const [assignment, partitions] of Map.groupBy(this.#unread(), one => this.#assignments.get(one)!)) {
      if (assignment.takingSinceMs !== null) continue
      for (const partition of partitions) {
        this.#fetcher.remove(partition)
        this.#leases.delete(partition)
      }
      void this.#own(partitions, assignment)
    }
    this.#fetcher.restart()
    if (isWorse) this.#membership.rejoin(reason)
  }

  #onPartitions(before: number, after: number): void {
    const order = this.#options.open.log.ordersKeys
      ? 'to keep the order of keys, the new ones are read once the others are drained to their present ends'
      : 'new records of a key may go to another partition than its earlier ones'
    this.onWarning(`topic ${this.#settings.topic} has ${after} partitions instead of ${before}: ${order}`)
    this.#membership.partitionsAdded()
  }

  async #close(): Promise<void> {
    this.#watchdog.close()
    this.#fetcher.close()
    await within(lastCommitMs, this.#committer.commit([...this.#leases.values()]))
    this.#committer.close()
    await within(lastCommitMs, this.#membership.leave())
    await this.#options.client.close()
  }
}

/** A partition that the group assigned. */
interface Assignment {
  readonly member: Member
  /** When determining its position began; null otherwise. */
  takingSinceMs: number | null
}

function standing({ incarnation, position }: PartitionProgress): Position {
  return { incarnation, next: position }
}

function numberOf(partition: string): number {
  return Number(partition.slice(partition.lastIndexOf('/') + 1))
}

/** Waits at most this long, and ignores the outcome. */
async function within(timeoutMs: number, work: Promise<unknown>): Promise<void> {
  const early = new AbortController()
  const late = sleep(timeoutMs, undefined, { signal: early.signal }).catch(() => {})
  await Promise.race([work.catch(() => {}), late])
  early.abort()
}
