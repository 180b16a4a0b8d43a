import type { Log } from '../../environment.ts'
import type { KafkaClient, Member } from './client/kafka-client.ts'
import { partitionName } from './take-partitions.ts'
import type { TopicSettings } from './topic.ts'
import { untilDrained } from './until-drained.ts'

export interface AddedPartitionsOptions {
  readonly client: KafkaClient
  readonly settings: TopicSettings
  readonly log: Log
  /** Without an order of keys no partition waits. */
  readonly ordersKeys: boolean
  readonly onWarning: (reason: string) => void
}

/** Partitions added to the topic. To keep the order of keys, each waits until the others are drained. */
export class AddedPartitions {
  readonly #options: AddedPartitionsOptions
  /** Assigned, and waiting; with their assignments. */
  readonly #waiting = new Map<number, object>()
  /** Those that have finished waiting. */
  readonly #drained = new Set<number>()

  constructor(options: AddedPartitionsOptions) {
    this.#options = options
  }

  get waiting(): number {
    return this.#waiting.size
  }

  isWaiting(partition: number): boolean {
    return this.#waiting.has(partition)
  }

  mustWait(partition: number): boolean {
    return this.#options.ordersKeys && !this.#drained.has(partition)
  }

  /** False if the partition is no longer assigned to this member. `waits`: whether it still is. */
  async untilDrained(
    partition: number,
    assignment: { readonly member: Member },
    waits: () => boolean,
  ): Promise<boolean> {
    const { client, settings, log, onWarning } = this.#options
    const limitMs = settings.addedPartitionsWaitMs
    const name = partitionName(settings, partition)
    this.#waiting.set(partition, assignment)
    const found = await untilDrained({
      client,
      member: assignment.member,
      partition,
      limitMs,
      waits,
      onTrouble: reason => log.warn('added partition waits', { partition: name, reason }),
    })
    if (this.#waiting.get(partition) === assignment) this.#waiting.delete(partition)
    if (found.kind === 'gone') return false
    this.#drained.add(partition)
    if (found.kind === 'late') {
      const names = found.behind.map(other => partitionName(settings, other)).join(', ')
      const behind =
        names === '' ? 'it is not known whether the others are drained' : `${names} is not drained`
      onWarning(
        `${name} was added and is read after ${limitMs} ms, although ${behind}: records of a key that moved may be applied before its earlier ones`,
      )
    }
    return true
  }
}
