import type { Load } from '../workload.ts'

/**
 * The log side of one broker: a reader leaves it unchanged, so one filling serves every contender of
 * a round.
 */
export interface LogBroker {
  /** Creates the log and writes the load into it; resolves when all of it is acknowledged. */
  fill(name: string, partitions: number, load: Load): Promise<void>
  /** Records that the group has committed. */
  committed(name: string, group: string): Promise<number>
  /** Also forgets the groups. */
  delete(name: string, groups: readonly string[]): Promise<void>
  close(): Promise<void>
}

interface FilledLog {
  readonly round: number
  readonly filling: Promise<void>
  readonly groups: string[]
}

/** Logs filled by this run, each once. */
export class FilledLogs {
  readonly #broker: LogBroker
  readonly #kind: string
  readonly #logs = new Map<string, FilledLog>()

  constructor(kind: string, broker: LogBroker) {
    this.#kind = kind
    this.#broker = broker
  }

  /** The log with exactly this load in it, and the group that `reader` reads it by. */
  async prepare(partitions: number, load: Load, reader: string): Promise<{ queue: string; group: string }> {
    const { ids, round, count } = load
    const queue = `onceward-bench-${process.pid}-${this.#kind}-${partitions}-${ids}-${round}-${count}`
    const group = `${queue}.${reader.replaceAll(/[^a-z0-9]+/g, '-')}`
    let filled = this.#logs.get(queue)
    if (filled === undefined) {
      filled = { round, filling: this.#broker.fill(queue, partitions, load), groups: [] }
      this.#logs.set(queue, filled)
    }
    filled.groups.push(group)
    await filled.filling
    return { queue, group }
  }

  /** Throws unless the group has committed everything. */
  async assertCommitted(queue: string, group: string, count: number): Promise<void> {
    const committed = await this.#broker.committed(queue, group)
    if (committed !== count)
      throw new Error(`${group}: the group has committed ${committed} of ${count} records`)
  }

  async deleteBefore(round: number): Promise<void> {
    for (const [name, log] of this.#logs) {
      if (log.round >= round) continue
      this.#logs.delete(name)
      await this.#broker.delete(name, log.groups)
    }
  }

  async close(): Promise<void> {
    await this.deleteBefore(Number.POSITIVE_INFINITY)
    await this.#broker.close()
  }
}
