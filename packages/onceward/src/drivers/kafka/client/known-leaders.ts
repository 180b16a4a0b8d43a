import type { PartitionDescription } from './connections.ts'

/** After this time older epochs are accepted: a cluster restored from an older copy keeps reporting them. */
const staleMaxMs = 30_000

/**
 * The newest leader of each partition that any broker has reported. Brokers learn of an election one after
 * the other, and a disconnected broker reports replaced leaders, whose logs seem to end early.
 */
export class KnownLeaders {
  /** By topic id, then by partition. */
  readonly #topics = new Map<string, Map<number, Known>>()
  readonly #nowMs: () => number

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs
  }

  newest(topicId: string, reported: readonly PartitionDescription[]): PartitionDescription[] {
    const topic = this.#topics.get(topicId) ?? new Map<number, Known>()
    this.#topics.set(topicId, topic)
    return reported.map(described => {
      const known = topic.get(described.partition)
      if (
        known === undefined ||
        described.leaderEpoch >= known.described.leaderEpoch ||
        this.#isAccepted(known)
      ) {
        topic.set(described.partition, { described, staleSinceMs: null })
        return described
      }
      return known.described
    })
  }

  #isAccepted(known: Known): boolean {
    known.staleSinceMs ??= this.#nowMs()
    return this.#nowMs() - known.staleSinceMs >= staleMaxMs
  }
}

interface Known {
  readonly described: PartitionDescription
  /** Since when only earlier epochs have been reported. */
  staleSinceMs: number | null
}
