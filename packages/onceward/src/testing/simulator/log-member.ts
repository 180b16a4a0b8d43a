import { type LogDriver, LogSubscription } from '../../drivers/log/log-subscription.ts'
import { PartitionProgress } from '../../drivers/log/partition-progress.ts'
import type { LogRecord } from '../../ports/log-record.ts'
import type { OpenOptions, Ownership, Position } from '../../ports/source.ts'
import type { Actor } from './actor.ts'
import type { SimulatedLog } from './log.ts'
import { OffsetCommits } from './offset-commits.ts'

/** One assignment of a partition to this member; another assignment is another lease. */
interface OwnedPartition {
  readonly generation: number
  readAt: number
  progress: PartitionProgress | null
  fetching: boolean
}

const incarnation = '1'
/**
 * The longest wait for the engine when a partition is revoked; the pause before a partition is taken again.
 */
const revokeMs = 5_000
const againMs = 500

/** The driver of a simulated log, under the subscription that all logs share. */
export class LogMember implements LogDriver {
  readonly origin = 'simulated'
  readonly actor: Actor
  readonly subscription: LogSubscription
  readonly #log: SimulatedLog
  readonly #options: OpenOptions
  readonly #owned = new Map<string, OwnedPartition>()
  readonly #commits: OffsetCommits
  #closed = false

  constructor(log: SimulatedLog, actor: Actor, options: OpenOptions) {
    this.#log = log
    this.actor = actor
    this.#options = options
    this.#commits = new OffsetCommits(log, this)
    this.subscription = new DisownableSubscription(options, this, names => this.#disowned(names))
  }

  ownedOn(name: string): OwnedPartition | undefined {
    return this.#owned.get(name)
  }

  assigned(name: string): void {
    if (this.#closed) return
    const { generation } = this.#log.partition(name)
    const owned: OwnedPartition = { generation, readAt: 0, progress: null, fetching: false }
    this.#drop(name)
    this.#owned.set(name, owned)
    void this.#own(name, owned)
  }

  revoked(name: string): void {
    const owned = this.#owned.get(name)
    if (owned !== undefined) void this.#handBack(name, owned)
    else if (!this.#closed) void this.#release(name)
  }

  /** Under which assignment a position may be committed; null when that has ended. */
  generationOf(progress: PartitionProgress): number | null {
    const owned = this.#owned.get(progress.partition)
    return owned?.progress === progress ? owned.generation : null
  }

  /** Drops that assignment; a later one of the same partition stays. */
  lost(name: string, owned: OwnedPartition | undefined): void {
    if (owned !== undefined && this.#owned.get(name) === owned) this.#drop(name)
  }

  commit(moved: readonly PartitionProgress[]): Promise<{ missed: number }> {
    this.#commits.note(moved)
    return Promise.resolve({ missed: 0 })
  }

  onRoom(): void {
    for (const name of this.#owned.keys()) this.feed(name)
  }

  behind(): null {
    return null
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#commits.last([...this.#owned.values()].flatMap(owned => owned.progress ?? []))
    await this.#log.scheduler.call(this.actor, 'leave the group', () => this.#log.leave(this))
  }

  feed(name: string): void {
    const owned = this.#owned.get(name)
    if (owned?.progress == null || owned.fetching || this.actor.state === 'dead') return
    const { end } = this.#log.partition(name)
    if (owned.readAt >= end || !this.subscription.wants(name)) return
    owned.fetching = true
    this.#log.scheduler.offer(this.actor, `fetch ${name}`, () => this.#fetch(name, owned))
  }

  #fetch(name: string, owned: OwnedPartition): void {
    const { records, end } = this.#log.partition(name)
    const waiting = records.filter(({ offset }) => offset >= owned.readAt)
    const taken = waiting.slice(0, this.#log.scheduler.draws.between(1, 4))
    const readOn = taken.length === waiting.length ? end : taken.at(-1)!.offset + 1
    const offered = taken.map(({ offset, publication }): LogRecord => {
      const { body, properties, key, position } = publication
      const [at, next] = [String(offset), String(offset + 1)]
      return { body, headers: {}, properties, key, at, next, position: position!, redelivered: false }
    })
    this.actor.hear(() => {
      owned.fetching = false
      if (this.#owned.get(name) !== owned) return
      owned.readAt = readOn
      this.subscription.offer(owned.progress!, offered, String(readOn))
      this.feed(name)
    })
  }

  /** Takes it in the store, until it has another owner. */
  async #own(name: string, owned: OwnedPartition): Promise<void> {
    const mine = () => this.#owned.get(name) === owned && !this.#closed
    while (mine()) {
      try {
        const committed = await this.#log.scheduler.call(
          this.actor,
          `ask where ${name} stands`,
          () => this.#log.partition(name).committed,
        )
        const [ownership] = await this.#options.log.checkpoints.take([name])
        if (!mine()) return
        const position = await this.#start(name, ownership!, { committed, generation: owned.generation })
        if (!mine()) return
        owned.readAt = Number(position.next)
        owned.progress = new PartitionProgress(name, ownership!.epoch, position)
        this.subscription.own(owned.progress)
        return this.feed(name)
      } catch {
        await this.#after(againMs)
      }
    }
  }

  async #start(
    name: string,
    { epoch, stored }: Ownership,
    { committed, generation }: { committed: number | null; generation: number },
  ): Promise<Position> {
    const { progress, checkpoints } = this.#options.log
    const atBroker = committed === null ? null : { incarnation, next: String(committed) }
    const position = (progress === 'broker' ? atBroker : stored) ?? { incarnation, next: '0' }
    if (progress === 'broker' && committed === null) {
      const first = () => this.#log.commit(this, name, 0, generation)
      await this.#log.scheduler.call(this.actor, `commit ${name} at 0`, first)
    }
    if (stored === null) await checkpoints.begin(name, epoch, position)
    return position
  }

  async #handBack(name: string, owned: OwnedPartition): Promise<void> {
    this.subscription.stop(name)
    if (owned.progress !== null) {
      await Promise.race([this.#options.log.onRevoke([name]), this.#after(revokeMs)])
      if (this.#owned.get(name) !== owned) return
      await this.#commits.last([owned.progress])
      if (this.#owned.get(name) !== owned) return
    }
    this.#drop(name)
    await this.#release(name)
  }

  #release(name: string): Promise<void> {
    return this.#log.scheduler.call(this.actor, `give ${name} back`, () => this.#log.release(this, name))
  }

  /** The store reports another owner. If the group disagrees, the partition is taken once more. */
  #disowned(names: readonly string[]): void {
    for (const name of names) {
      const owned = this.#owned.get(name)
      if (owned === undefined) continue
      this.#owned.delete(name)
      void this.#after(againMs).then(() => {
        if (this.#log.partition(name).owner === this && !this.#owned.has(name)) this.assigned(name)
      })
    }
  }

  #drop(name: string): void {
    this.#owned.delete(name)
    this.subscription.drop(name)
  }

  #after(delayMs: number): Promise<void> {
    return new Promise(resolve => void this.#log.scheduler.after(this.actor, delayMs, resolve))
  }
}

class DisownableSubscription extends LogSubscription {
  readonly #onDisowned: (partitions: readonly string[]) => void

  constructor(options: OpenOptions, driver: LogDriver, onDisowned: (partitions: readonly string[]) => void) {
    super(options, driver)
    this.#onDisowned = onDisowned
  }

  override disown(partitions: readonly string[]): void {
    super.disown(partitions)
    this.#onDisowned(partitions)
  }
}
