import { OncewardError } from '../../errors.ts'
import { bareCopy, emptyMap } from '../../message/bare-map.ts'
import type { LogRecord } from '../../ports/log-record.ts'
import type { OpenOptions, Ownership, Position } from '../../ports/source.ts'
import { type LogDriver, LogSubscription } from '../log/log-subscription.ts'
import { withdrawLossAt } from '../log/open-loss.ts'
import { PartitionProgress } from '../log/partition-progress.ts'
import type { MemoryGroup } from './log-group.ts'
import type { MemoryPartition, StoredRecord } from './log-partition.ts'

export interface MemberEnvironment {
  readonly origin: string
  readonly incarnation: () => string
  readonly find: (name: string) => MemoryPartition | undefined
  /** Calls back once after the delay; the result cancels. */
  readonly after: (delayMs: number, callback: () => void) => () => void
}

/** Longest wait for the old owner of a partition. */
const revokeMs = 10_000

/** Records offered at a time. */
const readMax = 500

/** One subscription of a log in memory: its partitions, how far it has read, the positions it committed. */
export class MemoryMember implements LogDriver {
  readonly commitsToBroker = true
  readonly subscription: LogSubscription
  readonly #env: MemberEnvironment
  readonly #group: MemoryGroup
  readonly #options: OpenOptions
  /** Assigned partitions, with the position to read from once they are taken. */
  readonly #assigned = new Map<string, { readAt: number | null }>()

  constructor(env: MemberEnvironment, group: MemoryGroup, options: OpenOptions) {
    this.#env = env
    this.#group = group
    this.#options = options
    this.subscription = new LogSubscription(options, this)
  }

  get origin(): string {
    return this.#env.origin
  }

  /** Releases partitions that are not in the list; resolves when the engine has, or when it took too long. */
  async keep(partitions: ReadonlySet<string>): Promise<void> {
    const going = [...this.#assigned.keys()].filter(name => !partitions.has(name))
    if (going.length === 0) return
    const owned = going.filter(name => this.subscription.progressOf(name) !== undefined)
    for (const name of going) this.subscription.stop(name)
    if (owned.length > 0) await this.#bounded(this.#options.log.onRevoke(owned))
    this.#forget(going, 'given to another member')
  }

  /** Without notice: the broker takes this member for dead. */
  expel(reason: string): void {
    this.#forget([...this.#assigned.keys()], reason)
  }

  assign(partitions: ReadonlySet<string>): void {
    const fresh = [...partitions].filter(name => !this.#assigned.has(name))
    if (fresh.length === 0) return
    const marks = new Map(fresh.map(name => [name, { readAt: null }]))
    for (const [name, mark] of marks) this.#assigned.set(name, mark)
    const mine = (name: string) => this.#assigned.get(name) === marks.get(name)
    void this.#own(fresh, mine).catch(error => this.subscription.fail(error))
  }

  feed(): void {
    for (const progress of this.subscription.partitions) this.#feed(progress)
  }

  commit(moved: readonly PartitionProgress[]): Promise<{ missed: number }> {
    for (const { partition, position } of moved) this.#group.committed.set(partition, position)
    return Promise.resolve({ missed: 0 })
  }

  onRoom(): void {
    this.feed()
  }

  behind({ partition, position }: PartitionProgress): number | null {
    return this.#env.find(partition)?.countFrom(Number(position)) ?? null
  }

  close(): Promise<void> {
    this.#forget([...this.#assigned.keys()], 'closed')
    this.#group.leave(this)
    return Promise.resolve()
  }

  async #own(names: readonly string[], mine: (name: string) => boolean): Promise<void> {
    const { checkpoints } = this.#options.log
    for (const ownership of await checkpoints.take(names)) {
      const { partition, epoch } = ownership
      if (!mine(partition)) continue
      const position = await this.#start(ownership).catch(error => {
        if ((error as OncewardError).code !== 'ownership_lost') throw error
        return null
      })
      if (position === null || !mine(partition)) continue
      this.#assigned.get(partition)!.readAt = Number(position.next)
      this.subscription.own(new PartitionProgress(partition, epoch, position))
      this.feed()
    }
    const owned = names.filter(mine)
    if (owned.length > 0) this.#options.onEvent({ kind: 'assigned', partitions: owned, reason: 'rebalance' })
  }

  /**
   * Where to read: the position an operator accepted, then the authoritative one of the contract, then the
   * other one, then the beginning of the log.
   */
  async #start(ownership: Ownership): Promise<Position> {
    const { partition, epoch, stored, resumeAt } = ownership
    const { progress, checkpoints } = this.#options.log
    const log = this.#env.find(partition)!
    const incarnation = this.#env.incarnation()
    const beginning = { incarnation, next: String(log.start) }
    if (resumeAt !== null) {
      await this.#begin(partition, epoch, resumeAt)
      return resumeAt
    }
    const offset = this.#group.committed.get(partition)
    const committed = offset === undefined ? null : { incarnation, next: offset }
    const inStore = progress === 'store' || progress === 'only'
    if (stored !== null && stored.incarnation !== incarnation)
      return this.#lose(partition, stored, beginning, 'the log was created again')
    if (!inStore && committed === null && stored !== null)
      return this.#lose(partition, stored, beginning, 'the log has forgotten its position')
    const position = (inStore ? (stored ?? committed) : committed) ?? beginning
    await this.#check(partition, position)
    await withdrawLossAt(checkpoints, ownership, position, { isSameLog: false })
    if (stored === null) await checkpoints.begin(partition, epoch, position)
    if (committed === null) this.#group.committed.set(partition, position.next)
    return position
  }

  async #begin(partition: string, epoch: number, position: Position): Promise<void> {
    this.#group.committed.set(partition, position.next)
    await this.#options.log.checkpoints.begin(partition, epoch, position)
  }

  /** Rejects when the log no longer has the record at this position. */
  async #check(partition: string, position: Position): Promise<void> {
    const { start, end } = this.#env.find(partition)!
    const at = Number(position.next)
    const to = { ...position, next: String(at < start ? start : end) }
    if (at < start) await this.#lose(partition, position, to, 'records expired unread', start - at)
    if (at > end) await this.#lose(partition, position, to, 'the end of the log was cut off')
  }

  async #lose(
    partition: string,
    from: Position,
    to: Position,
    reason: string,
    records: number | null = null,
  ): Promise<never> {
    await this.#options.log.checkpoints.declareLoss({ partition, from, to, records, reason })
    throw new OncewardError(
      'records_lost',
      `${partition}: ${reason}. The position is ${from.next}, and the log continues at ${to.next}. The loss is recorded and nothing was skipped; accept it to continue.`,
      { details: { partition } },
    )
  }

  #feed(progress: PartitionProgress): void {
    const { partition } = progress
    const log = this.#env.find(partition)
    const mark = this.#assigned.get(partition)
    if (log === undefined || mark?.readAt == null) return
    const at = mark.readAt
    if (at < log.start || at > log.end || progress.incarnation !== this.#env.incarnation()) {
      mark.readAt = null
      const from = { incarnation: progress.incarnation, next: String(at) }
      void this.#lost(partition, from).catch(error => this.subscription.fail(error))
      return
    }
    while (this.subscription.wants(partition) && mark.readAt < log.end) {
      const { records, next } = log.read(mark.readAt, readMax)
      mark.readAt = next
      this.subscription.offer(
        progress,
        records.map(record => this.#record(partition, record)),
        String(next),
      )
    }
  }

  async #lost(partition: string, from: Position): Promise<void> {
    const incarnation = this.#env.incarnation()
    if (from.incarnation === incarnation) return this.#check(partition, from)
    const to = { incarnation, next: String(this.#env.find(partition)!.start) }
    await this.#lose(partition, from, to, 'the log was created again')
  }

  #record(partition: string, { offset, message, timestampMs }: StoredRecord): LogRecord {
    const { body, headers, properties = {}, key = null } = message
    return {
      body: typeof body === 'string' ? Buffer.from(body) : body,
      headers: headers === undefined ? emptyMap : bareCopy(headers),
      properties: bareCopy(properties, timestampMs === null ? {} : { timestampMs }),
      key,
      at: String(offset),
      next: String(offset + 1),
      position: `${partition}@${offset}`,
      redelivered: false,
    }
  }

  #forget(names: readonly string[], reason: string): void {
    if (names.length === 0) return
    for (const name of names) {
      this.#assigned.delete(name)
      this.subscription.drop(name)
    }
    this.#options.onEvent({ kind: 'revoked', partitions: names, reason })
  }

  async #bounded(work: Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = this.#env.after(revokeMs, resolve)
    await Promise.race([work.catch(() => {}), promise])
    cancel()
  }
}
