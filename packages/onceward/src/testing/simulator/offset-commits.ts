import type { PartitionProgress } from '../../drivers/log/partition-progress.ts'
import type { SimulatedLog } from './log.ts'
import type { LogMember } from './log-member.ts'

/** Pause before a lost commit is sent again. */
const againMs = 100

/**
 * Commits the positions of partitions to the broker, one request at a time; positions that move meanwhile
 * join the next.
 */
export class OffsetCommits {
  readonly #log: SimulatedLog
  readonly #member: LogMember
  readonly #due = new Set<PartitionProgress>()
  #sending: Promise<void> | null = null

  constructor(log: SimulatedLog, member: LogMember) {
    this.#log = log
    this.#member = member
  }

  note(moved: readonly PartitionProgress[]): void {
    for (const progress of moved) this.#due.add(progress)
    this.#sending ??= this.#send()
  }

  /** A last commit before the partitions are released, whether it arrives or not. */
  async last(progress: readonly PartitionProgress[]): Promise<void> {
    await this.#sending
    await this.#request(progress.filter(({ live }) => live)).catch(() => {})
  }

  async #send(): Promise<void> {
    const moved = [...this.#due].filter(({ live }) => live)
    this.#due.clear()
    try {
      await this.#request(moved)
    } catch {
      this.#log.scheduler.after(this.#member.actor, againMs, () => this.note(moved))
    }
    this.#sending = null
    if (this.#due.size > 0) this.note([])
  }

  #request(moved: readonly PartitionProgress[]): Promise<void> {
    if (moved.length === 0) return Promise.resolve()
    const { scheduler, faults } = this.#log
    const positions = moved.map(progress => ({
      partition: progress.partition,
      offset: Number(progress.position),
      generation: this.#member.generationOf(progress),
    }))
    const label = `commit ${positions.map(({ partition, offset }) => `${partition} at ${offset}`).join(', ')}`
    return scheduler.call(this.#member.actor, label, () => {
      const isLost = faults.strike('offset commit lost')
      if (isLost && scheduler.draws.chance(0.5)) throw new Error('lost on the way')
      for (const { partition, offset, generation } of positions)
        if (generation !== null) this.#log.commit(this.#member, partition, offset, generation)
      if (isLost) throw new Error('answer lost')
    })
  }
}
