import assert from 'node:assert/strict'
import type { LogRecord } from '../../ports/log-record.ts'
import type { Edges, LogRange, Page, RangeReader } from '../../ports/range-reader.ts'
import type { Delivery } from '../../ports/source.ts'
import type { RangeReaderUnderTest } from './range-reader.ts'
import { receiveCount, SourceBench } from './source-bench.ts'

/** The most empty pages in a row; a broker may take a moment to show what it confirmed. */
const fruitlessMax = 40

/** A log, and the readers a case opens on it, all closed afterwards. */
export class RangeBench {
  readonly under: RangeReaderUnderTest
  readonly #readers = new Set<RangeReader>()

  constructor(under: RangeReaderUnderTest) {
    this.under = under
  }

  open(): RangeReader {
    const reader = this.under.openReader()
    this.#readers.add(reader)
    return reader
  }

  publish(...texts: readonly string[]): Promise<void> {
    return this.under.publish(texts.map(text => ({ body: Buffer.from(text), partition: 0 })))
  }

  /** The range of the first partition. */
  async survey(reader: RangeReader, edges: Edges = { start: 'first', end: 'next' }): Promise<LogRange> {
    const [partition] = this.under.partitions
    const range = (await reader.survey(edges)).find(one => one.partition === partition)
    assert.ok(range !== undefined, `the survey has no range of ${partition}`)
    return range
  }

  /** Every record of a range, from its beginning or from a position within, as a campaign reads it. */
  async read(reader: RangeReader, range: LogRange, from = range.from): Promise<readonly LogRecord[]> {
    const records: LogRecord[] = []
    let fruitless = 0
    for (let next = from; BigInt(next) < BigInt(range.to); ) {
      const page = await this.page(reader, range, next)
      assert.equal(page.kind, 'records', `a page of kind ${page.kind}: ${JSON.stringify(page)}`)
      const { records: more, next: then, atEnd } = page as Extract<Page, { kind: 'records' }>
      assert.ok(BigInt(then) >= BigInt(next), `reading at ${next} went back to ${then}`)
      records.push(...more)
      fruitless = then === next ? fruitless + 1 : 0
      assert.ok(fruitless < fruitlessMax, `nothing came at ${next}, and the range ends at ${range.to}`)
      next = then
      if (atEnd) break
    }
    return records.filter(({ at }) => BigInt(at) < BigInt(range.to))
  }

  /** One page; rejections are retried, as a campaign does. */
  async page(reader: RangeReader, { partition, incarnation }: LogRange, next: string): Promise<Page> {
    for (let failures = 0; ; failures++) {
      try {
        return await reader.read(partition, { incarnation, next })
      } catch (error) {
        if ((error as { code?: string }).code === 'configuration' || failures >= 3) throw error
      }
    }
  }

  /** What the live source delivers of the log. */
  async live(count: number): Promise<readonly Delivery[]> {
    const { source, partitions } = this.under
    const none = async () => {}
    const bench = new SourceBench({
      source: source!,
      another: () => source!,
      publish: none,
      partitions,
      close: none,
    })
    try {
      return await receiveCount(await bench.open(), count)
    } finally {
      await bench.close()
    }
  }

  async close(): Promise<void> {
    for (const reader of this.#readers) await reader.close()
    await this.under.close()
  }
}

export const textsOf = (records: readonly Pick<LogRecord, 'body'>[]): string[] =>
  records.map(({ body }) => body.toString())
