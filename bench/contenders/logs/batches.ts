import type { LogReader, LogRecord } from './log-reader.ts'

/**
 * What has been read and waits, in order of arrival. Knows how many will come, so only the last batch is
 * short.
 */
export class Batches {
  readonly #reader: LogReader
  readonly #add: (record: LogRecord) => void
  #unseen: number
  #reading: Promise<void> | null = null

  constructor(reader: LogReader, count: number, add: (record: LogRecord) => void) {
    this.#reader = reader
    this.#unseen = count
    this.#add = add
  }

  /** Answers with `take` as soon as it has something; null when nothing more will come. */
  async next<T>(take: (isLast: boolean) => T | null): Promise<T | null> {
    for (;;) {
      const taken = take(this.#unseen === 0)
      if (taken !== null || this.#unseen === 0) return taken
      this.#reading ??= this.#read().finally(() => {
        this.#reading = null
      })
      await this.#reading
    }
  }

  async #read(): Promise<void> {
    const records = await this.#reader.read()
    for (const record of records) this.#add(record)
    this.#unseen -= records.length
  }
}
