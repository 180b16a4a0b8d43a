import { setTimeout as delay } from 'node:timers/promises'
import { errorText, OncewardError } from '../../errors.ts'
import type { LogOptions, Loss, Position } from '../../ports/source.ts'
import type { LogSubscription } from '../log/log-subscription.ts'
import { withdrawLossAt } from '../log/open-loss.ts'
import { PartitionProgress } from '../log/partition-progress.ts'
import { Credit } from './credit.ts'
import { decidePosition, recordsLost } from './decide-position.ts'
import type { StreamLeader } from './incarnation.ts'
import { isMissing, missingStream } from './missing-stream.ts'
import type { OffsetCommitter } from './offset-committer.ts'
import type { StreamDeclaration } from './stream.ts'
import { toRecords, type UnkeptPart } from './to-records.ts'
import { type Chunk, readChunk } from './wire/chunk.ts'
import { giveCredit, queryStats, subscribe, unsubscribe } from './wire/commands.ts'
import type { StreamConnection } from './wire/connection.ts'
import { within } from './within.ts'

export interface ReaderOptions {
  readonly partition: string
  readonly declaration: StreamDeclaration
  readonly group: string
  readonly log: LogOptions
  readonly connection: StreamConnection
  readonly subscription: LogSubscription
  readonly committer: OffsetCommitter
  /** Offsets below were already delivered by this process. */
  readonly deliveredTo: Map<string, number>
  /** How often a chunk arrived damaged, by its position. */
  readonly damagedReads: Map<string, number>
  /** Largest unreadable part of the stream that is kept. */
  readonly keptBytesMax?: number
  readonly onAssigned: () => void
  readonly onRevoked: (reason: string) => void
  readonly leader: () => Promise<StreamLeader>
  /** From the next connection on the leader is read. */
  readonly readFromLeader: () => void
  /** A retry may help: the connection should be closed. */
  readonly onTrouble: (reason: string) => void
}

/** The broker drops a consumer that does not answer within a minute. */
const revokeTimeoutMs = 20_000
const lostTimeoutMs = 3_000
const standAsideMs = 1_000
const damagedReadsMax = 3

/**
 * Reads one partition on one connection.
 *
 *   new ──start──▶ standing by ──made active──▶ taking ──position decided──▶ reading
 *                       ▲                                                      │
 *                       └──returned── stepping down ◀──made inactive, or the connection ended
 *
 * The reader answers the broker's requests in order, each after its completion. It answers an activation
 * after the store has recorded the ownership. It answers a step down after everything in progress is settled
 * and stored. The next owner begins after that.
 */
export class PartitionReader {
  readonly #options: ReaderOptions
  #turn: Promise<void> = Promise.resolve()
  #id = -1
  #credit = new Credit()
  #progress: PartitionProgress | null = null
  /** The next expected offset. */
  #readOn = 0
  #newest = 0
  /** Chunks not delivered yet, in order. */
  #chunks: Chunk[] = []
  /** The first chunk was begun: the rest is unpacked when there is room. */
  #begun = false
  /**
   * Why the first chunk waits: records may be missing before it, or records before a part that cannot be kept
   * are unsettled.
   */
  #waitsFor: 'missing offsets' | 'loss' | null = null
  #lossAhead: UnkeptPart | null = null

  constructor(options: ReaderOptions) {
    this.#options = options
  }

  get partition(): string {
    return this.#options.partition
  }

  /** Resolves when the broker has the subscription. Rejects on any failure. */
  async start(): Promise<void> {
    const { partition, declaration, group, connection } = this.#options
    const stream = partition
    try {
      if (declaration.singleActive === false) return await this.#takeAndSubscribe()
      const properties = {
        'single-active-consumer': 'true',
        name: group,
        ...(declaration.superStream && { 'super-stream': declaration.stream }),
      }
      this.#credit = new Credit()
      this.#id = await subscribe(
        connection,
        { stream, from: 'next', credit: 1, properties },
        this.#listener(),
      )
    } catch (error) {
      throw isMissing(error) ? await this.#missing(error) : error
    }
  }

  /**
   * The connection has ended: returns the partition. Another process may own it already, so the waits are
   * short. Never rejects.
   */
  end(reason: string): Promise<void> {
    return this.#next(() => this.#stepDown(reason, lostTimeoutMs))
  }

  /**
   * The store has recorded another owner: lets the broker assign the partition to that process. Stands by
   * again after a pause, so that the new owner is active by then. Never rejects.
   */
  release(): Promise<void> {
    this.#forget()
    const { connection } = this.#options
    return this.#next(async () => {
      await unsubscribe(connection, this.#id)
      this.#options.onRevoked('the store has recorded another owner')
      await delay(standAsideMs, undefined, { ref: false })
      if (connection.live) await this.start()
    })
  }

  /** Called when there may be room again. */
  topUp(): void {
    if (this.#progress === null || !this.#options.subscription.wants(this.partition)) return
    if (this.#begun) this.#hand()
    const more = this.#credit.more()
    if (more > 0) giveCredit(this.#options.connection, this.#id, more)
  }

  /** The end of the stream as last reported; null when the partition is not read. */
  get newest(): number | null {
    return this.#progress === null ? null : this.#newest
  }

  /** Called periodically: without chunks the broker reports nothing about the stream's end. */
  async look(): Promise<void> {
    if (this.#progress === null) return
    this.#declareLossAhead()
    if (this.#credit.given > 0) this.#newest = this.#readOn
    else {
      const { committedChunk } = await queryStats(this.#options.connection, this.partition)
      this.#newest = Math.max(this.#newest, committedChunk + 1)
    }
  }

  #listener() {
    return {
      onChunk: (frame: Buffer, at: number, committed: number) => this.#arrived(frame, at, committed),
      onActive: (active: boolean, answer: (from: number | null) => void) => {
        void this.#next(async () => {
          if (!active) {
            await this.#stepDown('another process of the group now reads it')
            return answer(null)
          }
          await this.#stepDown('the broker activates this process again')
          await this.#take()
          if (this.#progress === null) return
          answer(this.#readOn)
          // A reader that was full when it stepped down has no credit left, and without credit the broker
          // sends nothing.
          if (this.#credit.given === 0) this.topUp()
        })
      },
    }
  }

  async #takeAndSubscribe(): Promise<void> {
    await this.#take()
    if (this.#progress === null) return
    const { connection, partition: stream } = this.#options
    this.#credit = new Credit()
    const from = { offset: this.#readOn }
    this.#id = await subscribe(connection, { stream, from, credit: 1 }, this.#listener())
  }

  /** Runs one step after the other; a failure ends the connection or the subscription, never the process. */
  #next(step: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(step).catch(error => this.#failed(error))
    return this.#turn
  }

  #failed(error: unknown): void {
    const isFinal = error instanceof OncewardError && error.code !== 'ownership_lost'
    if (isFinal) this.#options.subscription.fail(error)
    else this.#options.onTrouble(errorText(error))
  }

  async #take(): Promise<void> {
    const { partition, log, connection, leader, readFromLeader, declaration, group, committer } =
      this.#options
    const [ownership] = await log.checkpoints.take([partition])
    const brokerKnows = log.progress === 'broker' || log.progress === 'first'
    const decision = await decidePosition({
      connection,
      leader,
      readFromLeader,
      declaration,
      group,
      ownership: ownership!,
      brokerKnows,
      storedFirst: log.progress === 'first',
    })
    if ('loss' in decision) throw await this.#lost(decision.loss)
    const { position, isNew } = decision
    await withdrawLossAt(log.checkpoints, ownership!, position, { isSameLog: true })
    if (isNew) {
      if (brokerKnows && !(await committer.confirm(partition, position.next)))
        throw new Error('the broker did not confirm the first position')
      await log.checkpoints.begin(partition, ownership!.epoch, position)
    }
    if (!connection.live) return
    this.#own(new PartitionProgress(partition, ownership!.epoch, position), position)
    this.#options.onAssigned()
  }

  #own(progress: PartitionProgress, { next }: Position): void {
    this.#forget()
    this.#progress = progress
    this.#readOn = Number(next)
    this.#newest = this.#readOn
    this.#options.subscription.own(progress)
  }

  #forget(): void {
    this.#progress = null
    this.#chunks = []
    this.#begun = false
    this.#waitsFor = null
    this.#lossAhead = null
  }

  async #stepDown(reason: string, timeoutMs = revokeTimeoutMs): Promise<void> {
    const { partition, subscription, log, committer } = this.#options
    if (this.#progress === null) return
    subscription.stop(partition)
    await within(timeoutMs, log.onRevoke([partition]))
    await within(timeoutMs, committer.flush())
    this.#forget()
    subscription.drop(partition)
    this.#options.onRevoked(reason)
  }

  async #lost(loss: Loss): Promise<OncewardError> {
    await this.#options.log.checkpoints.declareLoss(loss)
    return recordsLost(loss)
  }

  async #missing(cause: unknown): Promise<unknown> {
    const { partition, log, connection } = this.#options
    const [ownership] = await log.checkpoints.take([partition])
    const found = await missingStream(connection, partition, ownership!.stored, cause)
    return found.loss === undefined ? found.error : this.#lost(found.loss)
  }

  #arrived(frame: Buffer, at: number, committed: number): void {
    this.#credit.arrived(frame.length)
    if (this.#progress === null) return
    try {
      const chunk = readChunk(frame, at)
      if (chunk !== null) {
        if (chunk.damaged) this.#askAgain(chunk)
        const end = chunk.firstOffset + chunk.records
        this.#newest = committed > chunk.firstOffset ? Math.max(committed + 1, end) : end
        this.#chunks.push(chunk)
        this.#hand()
      }
      this.topUp()
    } catch (error) {
      this.#failed(error)
    }
  }

  /**
   * Throws a few times, so that another connection fetches the chunk again: it may have been damaged in
   * transit.
   */
  #askAgain({ firstOffset, problem }: Chunk): void {
    const { partition, damagedReads } = this.#options
    const place = `${partition}@${firstOffset}`
    const reads = (damagedReads.get(place) ?? 0) + 1
    damagedReads.set(place, reads)
    if (reads < damagedReadsMax) throw new Error(`the chunk at ${place} arrived damaged: ${problem}`)
    damagedReads.delete(place)
  }

  /** Delivers chunks until one has to wait. */
  #hand(): void {
    const { partition, subscription } = this.#options
    while (this.#waitsFor === null && this.#chunks.length > 0) {
      if (this.#begun && !subscription.wants(partition)) return
      const chunk = this.#chunks[0]!
      if (chunk.firstOffset > this.#readOn) {
        this.#waitsFor = 'missing offsets'
        void this.#next(() => this.#checkMissingOffsets())
        return
      }
      this.#begun = !this.#offer(chunk)
      if (this.#begun) {
        // In another turn of the event loop, so that memory of discarded unpacked data is released first.
        setImmediate(() => this.topUp())
        return
      }
      this.#chunks.shift()
    }
  }

  /** True when the whole chunk was delivered. */
  #offer(chunk: Chunk): boolean {
    const { partition, deliveredTo, keptBytesMax, subscription } = this.#options
    const before = deliveredTo.get(partition) ?? 0
    const { records, next, tooLarge } = toRecords(chunk, partition, this.#readOn, before, keptBytesMax)
    this.#readOn = Math.max(this.#readOn, next)
    deliveredTo.set(partition, Math.max(before, this.#readOn))
    if (records.length > 0) subscription.offer(this.#progress!, records, records.at(-1)!.next)
    if (tooLarge !== null) {
      this.#waitsFor = 'loss'
      this.#lossAhead = tooLarge
      return false
    }
    return this.#readOn >= chunk.firstOffset + chunk.records
  }

  /** The records before it are finished first, because an accepted loss resumes behind it. */
  #declareLossAhead(): void {
    const { partition, subscription } = this.#options
    const part = this.#lossAhead
    const progress = this.#progress
    if (part === null || progress === null) return
    if (progress.unsettled > 0 || subscription.readAhead(partition) > 0) return
    this.#lossAhead = null
    const { incarnation, position } = progress
    const to = { incarnation, next: String(part.offset + part.records) }
    const reason = `the stream has ${part.records} records at ${part.offset} that cannot be decoded (${part.problem}) and are too large to keep`
    void this.#next(async () => {
      subscription.stop(partition)
      throw await this.#lost({
        partition,
        from: { incarnation, next: position },
        to,
        records: part.records,
        reason,
      })
    })
  }

  /**
   * Offsets are missing before the next chunk. The broker uses some internally (every stored offset is one).
   * But when the stream now begins after the reading position, retention overtook the reader, and the content
   * of those offsets is unknown.
   */
  async #checkMissingOffsets(): Promise<void> {
    const { firstChunk } = await queryStats(this.#options.connection, this.partition)
    if (firstChunk > this.#readOn) await this.#assertLeaderDropped()
    const chunk = this.#chunks[0]
    const progress = this.#progress
    if (chunk === undefined || progress === null || this.#waitsFor !== 'missing offsets') return
    this.#waitsFor = null
    const to = chunk.firstOffset
    if (firstChunk > this.#readOn) {
      this.#forget()
      this.#options.subscription.stop(this.partition)
      const { incarnation, position } = progress
      // From the position, not from the reading offset: records that were read but not settled are also gone
      // from the stream.
      throw await this.#lost({
        partition: this.partition,
        from: { incarnation, next: position },
        to: { incarnation, next: String(to) },
        records: to - Number(position),
        reason: `retention removed offsets from ${position} on while they were being read`,
      })
    }
    this.#readOn = Math.max(this.#readOn, to)
    this.#hand()
    this.topUp()
  }

  /**
   * Each node applies retention independently. Throws when the leader still has the records that the node has
   * dropped.
   */
  async #assertLeaderDropped(): Promise<void> {
    const { connection } = await this.#options.leader()
    const { firstChunk } = await queryStats(connection, this.partition)
    if (firstChunk > this.#readOn) return
    this.#options.readFromLeader()
    throw new Error(`a replica of ${this.partition} has dropped ${this.#readOn}: the leader is read instead`)
  }
}
