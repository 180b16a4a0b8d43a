import { type LogDriver, LogSubscription } from '../../drivers/log/log-subscription.ts'
import { PartitionProgress } from '../../drivers/log/partition-progress.ts'
import type { LogRecord } from '../../ports/log-record.ts'
import type { OpenOptions, Ownership, Position } from '../../ports/source.ts'
import type { Actor } from './actor.ts'
import type { SimulatedLog } from './log.ts'
import { OffsetCommits } from './offset-commits.ts'

/** One assignment of a partition to this member; another assignment is another lease. */
interface Claim {
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
  readonly #claims = new Map<string, Claim>()
  readonly #commits: OffsetCommits
  #closed = false

  constructor(log: SimulatedLog, actor: Actor, options: OpenOptions) {
    this.#log = log
    this.actor = actor
    this.#options = options
    this.#commits = new OffsetCommits(log, this)
    this.subscription = new DisownableSubscription(options, this, names => this.#disowned(names))
  }

  claimOn(name: string): Claim | undefined {
    return this.#claims.get(name)
  }

  assigned(name: string): void {
    if (this.#closed) return
    const claim: Claim = { readAt: 0, progress: null, fetching: false }
    this.#drop(name)
    this.#claims.set(name, claim)
    void this.#own(name, claim)
  }

  revoked(name: string): void {
    const claim = this.#claims.get(name)
    if (claim !== undefined) void this.#handBack(name, claim)
    else if (!this.#closed) void this.#release(name)
  }

  /** Drops that assignment; a later one of the same partition stays. */
  lost(name: string, claim: Claim | undefined): void {
    if (claim !== undefined && this.#claims.get(name) === claim) this.#drop(name)
  }

  commit(moved: readonly PartitionProgress[]): Promise<{ missed: number }> {
    this.#commits.note(moved)
    return Promise.resolve({ missed: 0 })
  }

  onRoom(): void {
    for (const name of this.#claims.keys()) this.feed(name)
  }

  behind(): null {
    return null
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#commits.last([...this.#claims.values()].flatMap(claim => claim.progress ?? []))
    await this.#log.scheduler.call(this.actor, 'leave the group', () => this.#log.leave(this))
  }

  feed(name: string): void {
    const claim = this.#claims.get(name)
    if (claim?.progress == null || claim.fetching || this.actor.state === 'dead') return
    const { end } = this.#log.partition(name)
    if (claim.readAt >= end || !this.subscription.wants(name)) return
    claim.fetching = true
    this.#log.scheduler.offer(this.actor, `fetch ${name}`, () => this.#fetch(name, claim))
  }

  #fetch(name: string, claim: Claim): void {
    const { records, end } = this.#log.partition(name)
    const waiting = records.filter(({ offset }) => offset >= claim.readAt)
    const taken = waiting.slice(0, this.#log.scheduler.draws.between(1, 4))
    const readOn = taken.length === waiting.length ? end : taken.at(-1)!.offset + 1
    const offered = taken.map(({ offset, publication }): LogRecord => {
      const { body, properties, key, position } = publication
      const [at, next] = [String(offset), String(offset + 1)]
      return { body, headers: {}, properties, key, at, next, position: position!, redelivered: false }
    })
    this.actor.hear(() => {
      claim.fetching = false
      if (this.#claims.get(name) !== claim) return
      claim.readAt = readOn
      this.subscription.offer(claim.progress!, offered, String(readOn))
      this.feed(name)
    })
  }

  /** Takes it in the store, until it has another owner. */
  async #own(name: string, claim: Claim): Promise<void> {
    const mine = () => this.#claims.get(name) === claim && !this.#closed
    while (mine()) {
      try {
        const committed = await this.#log.scheduler.call(
          this.actor,
          `ask where ${name} stands`,
          () => this.#log.partition(name).committed,
        )
        const [ownership] = await this.#options.log.checkpoints.take([name])
        if (!mine()) return
        const position = await this.#start(name, ownership!, committed)
        if (!mine()) return
        claim.readAt = Number(position.next)
        claim.progress = new PartitionProgress(name, ownership!.epoch, position)
        this.subscription.own(claim.progress)
        return this.feed(name)
      } catch {
        await this.#after(againMs)
      }
    }
  }

  async #start(name: string, { epoch, stored }: Ownership, committed: number | null): Promise<Position> {
    const { progress, checkpoints } = this.#options.log
    const atBroker = committed === null ? null : { incarnation, next: String(committed) }
    const position = (progress === 'broker' ? atBroker : stored) ?? { incarnation, next: '0' }
    if (progress === 'broker' && committed === null) {
      const first = () => this.#log.commit(this, name, 0)
      await this.#log.scheduler.call(this.actor, `commit ${name} at 0`, first)
    }
    if (stored === null) await checkpoints.begin(name, epoch, position)
    return position
  }

  async #handBack(name: string, claim: Claim): Promise<void> {
    this.subscription.stop(name)
    if (claim.progress !== null) {
      await Promise.race([this.#options.log.onRevoke([name]), this.#after(revokeMs)])
      if (this.#claims.get(name) !== claim) return
      await this.#commits.last([claim.progress])
      if (this.#claims.get(name) !== claim) return
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
      const claim = this.#claims.get(name)
      if (claim === undefined) continue
      this.#claims.delete(name)
      void this.#after(againMs).then(() => {
        if (this.#log.partition(name).owner === this && !this.#claims.has(name)) this.assigned(name)
      })
    }
  }

  #drop(name: string): void {
    this.#claims.delete(name)
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
