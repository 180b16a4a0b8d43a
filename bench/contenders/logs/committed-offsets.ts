import type { LogReader, LogRecord } from './log-reader.ts'

const restMs = 100

interface OpenBatch {
  readonly next: ReadonlyMap<number, number>
  done: boolean
}

/**
 * Batches end in any order; a batch is committed to the broker when all before it are done too, ten times a second
 * at most.
 */
export class CommittedOffsets {
  readonly #reader: LogReader
  readonly #open: OpenBatch[] = []
  #moved = new Map<number, number>()
  #timer: NodeJS.Timeout | null = null
  #committing: Promise<void> = Promise.resolve()

  constructor(reader: LogReader) {
    this.#reader = reader
  }

  /** Called in order of the log; the answer is called once the batch is committed. */
  begin(batch: readonly LogRecord[]): () => void {
    const next = new Map<number, number>()
    for (const { partition, offset } of batch) next.set(partition, offset + 1)
    const entry = { next, done: false }
    this.#open.push(entry)
    return () => {
      entry.done = true
      this.#advance()
    }
  }

  /** Resolves when the broker knows everything that is done. */
  flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    const moved = this.#moved
    this.#moved = new Map()
    if (moved.size > 0) this.#committing = this.#committing.then(() => this.#reader.commit(moved))
    return this.#committing
  }

  #advance(): void {
    while (this.#open[0]?.done) {
      for (const [partition, next] of this.#open.shift()!.next) this.#moved.set(partition, next)
    }
    if (this.#moved.size > 0) this.#timer ??= setTimeout(() => void this.flush(), restMs)
  }
}
