import type { PartitionDescription } from './connections.ts'

/** A cluster that was restored from an older copy goes on saying it. */
const staleMaxMs = 30_000

/**
 * The newest leader of each partition that any broker has named. Brokers hear of an election one after the
 * other, and one that was cut off names leaders that were replaced: with those the log seems to end early.
 */
export class KnownLeaders {
  /** By topic id, then by partition. */
  readonly #topics = new Map<string, Map<number, Known>>()
  readonly #nowMs: () => number

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs
  }

  newest(topicId: string, told: readonly PartitionDescription[]): PartitionDescription[] {
    const topic = this.#topics.get(topicId) ?? new Map<number, Known>()
    this.#topics.set(topicId, topic)
    return told.map(described => {
      const known = topic.get(described.partition)
      if (
        known === undefined ||
        described.leaderEpoch >= known.described.leaderEpoch ||
        this.#isOver(known)
      ) {
        topic.set(described.partition, { described, staleSinceMs: null })
        return described
      }
      return known.described
    })
  }

  #isOver(known: Known): boolean {
    known.staleSinceMs ??= this.#nowMs()
    return this.#nowMs() - known.staleSinceMs >= staleMaxMs
  }
}

interface Known {
  readonly described: PartitionDescription
  /** Since when only earlier epochs have been named. */
  staleSinceMs: number | null
}
