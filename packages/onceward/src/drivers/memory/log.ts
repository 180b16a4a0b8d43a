import type { Timers } from '../../environment.ts'
import type { LogOptions, OpenOptions, Source, Subscription } from '../../ports/source.ts'
import { MemoryGroup } from './log-group.ts'
import { MemoryMember } from './log-member.ts'
import { MemoryPartition, type StoredRecord } from './log-partition.ts'
import type { MemoryMessage } from './source.ts'

/** Options of a log in memory. */
export interface MemoryLogOptions {
  /** Default 3. */
  readonly partitions?: number
  /** Default `memory-log`. */
  readonly name?: string
  /** Bound the wait for a partition's old owner. Default: real timers. */
  readonly timers?: Pick<Timers, 'after'>
}

/** One record of a log in memory. */
export interface MemoryLogMessage extends MemoryMessage {
  /** Default: by the key; in turn without one. */
  readonly partition?: number
}

/**
 * A partitioned log in this process, for unit tests, first steps and the simulator. Subscriptions of one
 * consumer share the partitions, and every open or close moves some; committed positions are kept per
 * consumer. Its records can expire, be compacted, cut off or forgotten, and the log can be created again, as
 * with real logs.
 */
export class MemoryLog implements Source {
  readonly name: string
  readonly capabilities = {
    order: { key: true, partition: true },
    positions: true,
    deliveryCount: false,
    redelivers: true,
  }
  readonly #origin: string
  readonly #after: Timers['after']
  readonly #groups = new Map<string, MemoryGroup>()
  #partitions: Map<string, MemoryPartition>
  #incarnation = 1
  #turn = 0

  constructor({ partitions = 3, name = 'memory-log', timers = realTimers }: MemoryLogOptions = {}) {
    this.name = `memory log ${name}`
    this.#origin = name
    this.#after = (delayMs, callback) => timers.after(delayMs, callback)
    this.#partitions = this.#create(partitions)
  }

  get partitions(): readonly string[] {
    return [...this.#partitions.keys()]
  }

  publish(...messages: readonly MemoryLogMessage[]): void {
    const all = [...this.#partitions.values()]
    for (const { partition, ...message } of messages)
      all[partition ?? this.#choose(message.key ?? null, all.length)]!.append(message)
    this.#feed()
  }

  open(options: OpenOptions): Promise<Subscription> {
    const { name, generation } = options.log.consumer
    const group = this.#group(`${name}/${generation}`)
    const env = {
      origin: this.#origin,
      incarnation: () => `${this.#origin}#${this.#incarnation}`,
      find: (partition: string) => this.#partitions.get(partition),
      after: this.#after,
    }
    const member = new MemoryMember(env, group, options)
    options.onEvent({ kind: 'connected' })
    group.join(member)
    return Promise.resolve(member.subscription)
  }

  /** The position a consumer has committed, as an offset; null when it never did. */
  committed(partition: string, { name, generation }: LogOptions['consumer']): number | null {
    const committed = this.#group(`${name}/${generation}`).committed.get(partition)
    return committed === undefined ? null : Number(committed)
  }

  /** Records at or after an offset. */
  countFrom(partition: string, offset: number): number {
    return this.#partitions.get(partition)!.countFrom(offset)
  }

  /** The offset the next record will get. */
  end(partition: string): number {
    return this.#partitions.get(partition)!.end
  }

  /** As a broker that lost its members: their deliveries are dead, and the partitions are assigned again. */
  disconnect(): void {
    for (const group of this.#groups.values()) {
      for (const member of group.members) member.expel('lost connection')
      group.rebalance()
    }
  }

  /** Retention: records before the offset are gone. */
  expire(partition: string, before: number): void {
    this.#partitions.get(partition)!.expire(before)
    this.#feed()
  }

  compact(goes: (record: StoredRecord) => boolean): void {
    for (const log of this.#partitions.values()) log.compact(goes)
  }

  /** Records from the offset on are gone, and their offsets are reused. */
  cutBack(partition: string, end: number): void {
    this.#partitions.get(partition)!.cutBack(end)
    this.#feed()
  }

  /** Deleted and created again: same name, another incarnation, no committed positions. */
  recreate(partitions = this.#partitions.size): void {
    this.#incarnation++
    this.#partitions = this.#create(partitions)
    this.forgetCommitted()
    this.#feed()
    for (const group of this.#groups.values()) group.rebalance()
  }

  forgetCommitted(): void {
    for (const { committed } of this.#groups.values()) committed.clear()
  }

  #create(count: number): Map<string, MemoryPartition> {
    const names = Array.from({ length: count }, (_, index) => `${this.#origin}/${index}`)
    return new Map(names.map(name => [name, new MemoryPartition(name)]))
  }

  #group(name: string): MemoryGroup {
    let group = this.#groups.get(name)
    if (group === undefined) {
      group = new MemoryGroup(() => this.partitions)
      this.#groups.set(name, group)
    }
    return group
  }

  #choose(key: string | null, count: number): number {
    if (key === null) return this.#turn++ % count
    let sum = 0
    for (const unit of key) sum = (sum * 31 + unit.codePointAt(0)!) % 1_000_003
    return sum % count
  }

  #feed(): void {
    for (const group of this.#groups.values()) for (const member of group.members) member.feed()
  }
}

const realTimers: Pick<Timers, 'after'> = {
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs)
    return () => clearTimeout(timer)
  },
}
