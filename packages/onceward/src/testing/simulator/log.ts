import type { OpenOptions, Source } from '../../ports/source.ts'
import type { Actor } from './actor.ts'
import { brokerRefused, type SimulatedBroker } from './broker.ts'
import type { Faults } from './faults.ts'
import { LogMember } from './log-member.ts'
import type { Publication } from './publication.ts'
import type { Scheduler } from './scheduler.ts'

/** Observes the positions that a group commits. */
export interface OffsetWatcher {
  passed(publications: readonly Publication[]): void
}

/** One partition: its records by offset, the group's committed offset, and its owner. */
export interface LogPartition {
  readonly name: string
  readonly records: { readonly offset: number; readonly publication: Publication }[]
  end: number
  committed: number | null
  owner: LogMember | null
  /** Being revoked from its owner for this member. */
  goesTo: LogMember | null
  /** Counts its assignments. A commit sent under an earlier one is refused, also from the same member. */
  generation: number
}

export interface LogSettings {
  readonly partitions: number
  /** Which position is authoritative. */
  readonly keeper: 'broker' | 'store'
  readonly storedAt: (partition: string) => number
}

/**
 * A log broker with one consumer group. Partitions move between members: revoked and waited for, or
 * reassigned while the old owner, frozen or cut off, continues until it notices. Offsets are committed late
 * and only by the owner.
 */
export class SimulatedLog implements SimulatedBroker {
  readonly scheduler: Scheduler
  readonly faults: Faults
  readonly #watcher: OffsetWatcher
  readonly #settings: LogSettings
  readonly #partitions: readonly LogPartition[]
  readonly #members = new Set<LogMember>()

  constructor(scheduler: Scheduler, faults: Faults, watcher: OffsetWatcher, settings: LogSettings) {
    this.scheduler = scheduler
    this.faults = faults
    this.#watcher = watcher
    this.#settings = settings
    this.#partitions = Array.from({ length: settings.partitions }, (_, index) => ({
      name: `log/${index}`,
      records: [],
      end: 0,
      committed: null,
      owner: null,
      goesTo: null,
      generation: 0,
    }))
  }

  get drained(): boolean {
    return this.#partitions.every(({ name, committed, records }) => {
      const at = this.#settings.keeper === 'broker' ? (committed ?? 0) : this.#settings.storedAt(name)
      return (records.at(-1)?.offset ?? -1) < at
    })
  }

  /**
   * By key, so that a key keeps its order. Some offsets are never delivered, as after compaction and markers.
   */
  publish(publication: Publication): void {
    const partition = this.#partitions[numberOf(publication.key) % this.#partitions.length]!
    if (this.scheduler.draws.chance(0.2)) partition.end++
    const offset = partition.end++
    publication.position = `${partition.name}@${offset}`
    partition.records.push({ offset, publication })
    for (const member of this.#members) member.feed(partition.name)
  }

  sourceOf(actor: Actor): Source {
    return {
      name: 'simulated log',
      capabilities: {
        order: { key: true, partition: true },
        positions: true,
        deliveryCount: false,
        redelivers: true,
      },
      open: (options: OpenOptions) =>
        this.scheduler.call(actor, 'join the group', () => {
          if (this.faults.strike('failed start')) throw brokerRefused()
          const member = new LogMember(this, actor, options)
          // Sent before its death, executed after it: no heartbeat keeps such a session alive.
          if (actor.state === 'dead') return member.subscription
          this.#members.add(member)
          for (const partition of this.#partitions) if (partition.owner === null) this.#assignLater(partition)
          return member.subscription
        }),
    }
  }

  partition(name: string): LogPartition {
    return this.#partitions.find(partition => partition.name === name)!
  }

  /** Records before this offset. */
  before(name: string, offset: number): readonly Publication[] {
    return this.partition(name)
      .records.filter(record => record.offset < offset)
      .map(record => record.publication)
  }

  commit(member: LogMember, name: string, offset: number, generation: number): void {
    const partition = this.partition(name)
    if (partition.owner !== member || partition.generation !== generation) return
    this.scheduler.remark(`committed ${name} at ${offset}`)
    partition.committed = offset
    this.#watcher.passed(this.before(name, offset))
  }

  /** The owner has released it, as requested. */
  release(member: LogMember, name: string): void {
    const partition = this.partition(name)
    if (partition.owner !== member) return
    const { goesTo } = partition
    partition.owner = null
    partition.goesTo = null
    if (goesTo !== null && this.#members.has(goesTo)) this.#assign(partition, goesTo)
    else this.#assignLater(partition)
  }

  leave(member: LogMember): void {
    this.#members.delete(member)
    for (const partition of this.#partitions)
      if (partition.owner === member) this.release(member, partition.name)
  }

  /** The session ends: all partitions go to others, perhaps to the same process joining again. */
  disconnect(actor: Actor): boolean {
    const mine = [...this.#members].filter(member => member.actor === actor)
    for (const member of mine) {
      if (actor.state === 'dead') this.#members.delete(member)
      for (const partition of this.#partitions) if (partition.owner === member) this.#takeAway(partition)
    }
    return mine.length > 0
  }

  /** Revokes one partition of an owner, in favour of another member. */
  rebalance(): boolean {
    const partition = this.scheduler.draws.pick(this.#partitions)
    const { owner } = partition
    if (owner === null || partition.goesTo !== null) return false
    partition.goesTo = this.scheduler.draws.pick([...this.#members])
    this.scheduler.notify(owner.actor, `is asked for ${partition.name}`, () => owner.revoked(partition.name))
    return true
  }

  /** Reassigns one partition without notice to its owner. */
  loseOne(): boolean {
    const partition = this.scheduler.draws.pick(this.#partitions)
    if (partition.owner === null) return false
    this.#takeAway(partition)
    return true
  }

  #takeAway(partition: LogPartition): void {
    const owner = partition.owner!
    partition.owner = null
    partition.goesTo = null
    const owned = owner.ownedOn(partition.name)
    this.scheduler.offer(owner.actor, `learns that it lost ${partition.name}`, () =>
      owner.actor.hear(() => owner.lost(partition.name, owned)),
    )
    this.#assignLater(partition)
  }

  #assignLater(partition: LogPartition): void {
    this.scheduler.offer(null, `the group assigns ${partition.name}`, () => {
      if (partition.owner !== null || this.#members.size === 0) return
      this.#assign(partition, this.scheduler.draws.pick([...this.#members]))
    })
  }

  #assign(partition: LogPartition, member: LogMember): void {
    partition.owner = member
    partition.generation++
    this.scheduler.remark(`${partition.name} goes to ${member.actor.name}`)
    this.scheduler.notify(member.actor, `gets ${partition.name}`, () => member.assigned(partition.name))
  }
}

function numberOf(key: string): number {
  return key.charCodeAt(key.length - 1)
}
