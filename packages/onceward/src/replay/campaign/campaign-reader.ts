import type { PullReader } from '../../drivers/log/pull-source.ts'
import type { PlaceRange } from '../../drivers/postgres/campaign/campaign-partitions.ts'
import { OncewardError } from '../../errors.ts'
import { type LogRecord, recordWith } from '../../ports/log-record.ts'
import type { LogRange, Page, RangeReader } from '../../ports/range-reader.ts'
import type { Position } from '../../ports/source.ts'
import type { Throttle } from './throttle.ts'

export interface CampaignReaderOptions {
  readonly ranges: readonly LogRange[]
  readonly throttle: Throttle | null
  /** Skips records that were not selected; null reads all. */
  readonly selects: ((record: LogRecord, range: LogRange) => Promise<boolean>) | null
  /** Skips records that must not be decided yet; their places stay open. Null reads all. */
  readonly takes?: TakesRecords | null
  /** Ranges that are already decided, by partition. */
  readonly decided?: ReadonlyMap<string, readonly PlaceRange[]> | null
}

/** Selects records of one page. */
export type TakesRecords = (
  records: readonly LogRecord[],
  range: LogRange,
) => Promise<(record: LogRecord) => boolean>

type Records = Extract<Page, { kind: 'records' }>

/** Reads the ranges of a plan as a log that ends, at the campaign's rate. */
export class CampaignReader implements PullReader {
  readonly origin: string
  readonly #inner: RangeReader
  readonly #options: CampaignReaderOptions
  readonly #ranges: ReadonlyMap<string, LogRange>
  /** Read and not delivered yet, by partition. */
  readonly #rest = new Map<string, { readonly at: string; readonly page: Records }>()

  /** Pages from which nothing was delivered, by partition: where they began and ended. */
  readonly #passed = new Map<string, { readonly from: string; readonly to: string }>()

  constructor(inner: RangeReader, options: CampaignReaderOptions) {
    this.origin = inner.origin
    this.#inner = inner
    this.#options = options
    this.#ranges = new Map(options.ranges.map(range => [range.partition, range]))
  }

  async list(): Promise<readonly string[]> {
    return [...this.#ranges.keys()]
  }

  async begin(partition: string): Promise<Position> {
    const { incarnation, from } = this.#ranges.get(partition)!
    return { incarnation, next: from }
  }

  async read(partition: string, from: Position): Promise<Page> {
    const range = this.#ranges.get(partition)!
    if (BigInt(from.next) >= BigInt(range.to)) return ended(from.next)
    const decidedTo = this.#decidedTo(partition, from.next)
    if (decidedTo !== null) return passed(decidedTo)
    const rest = this.#rest.get(partition)
    this.#rest.delete(partition)
    const page = rest?.at === from.next ? rest.page : await this.#inner.read(partition, from)
    if (page.kind !== 'records')
      throw gone(page.kind === 'lost' ? page.reason : 'the log continues elsewhere')
    return this.#throttled(partition, await this.#cut(page, range, from.next))
  }

  close(): Promise<void> {
    return this.#inner.close()
  }

  #decidedTo(partition: string, next: string): string | null {
    const at = BigInt(next)
    const around = this.#options.decided
      ?.get(partition)
      ?.find(([from, to]) => BigInt(from) <= at && at < BigInt(to))
    return around?.[1] ?? null
  }

  /** Ends with the range; later records are not part of the campaign. */
  async #cut(page: Records, range: LogRange, from: string): Promise<Records> {
    const end = BigInt(range.to)
    const atEnd = BigInt(page.next) >= end
    const within = atEnd ? page.records.filter(record => BigInt(record.at) < end) : page.records
    const { selects, takes } = this.#options
    const isTaken = (await takes?.(within, range)) ?? (() => true)
    const records: LogRecord[] = []
    const passed = this.#passed.get(range.partition)
    let since = passed?.to === from ? passed.from : from
    for (const record of within) {
      if (selects !== null && !(await selects(record, range))) continue
      if (!isTaken(record)) {
        since = record.next
        continue
      }
      records.push(record.at === since ? record : recordWith(record, { since }))
      since = record.next
    }
    const next = atEnd ? range.to : page.next
    if (records.length === 0) this.#passed.set(range.partition, { from: since, to: next })
    return { ...page, records, next, atEnd }
  }

  async #throttled(partition: string, page: Records): Promise<Page> {
    const { throttle } = this.#options
    if (throttle === null || page.records.length === 0) return page
    const { countMax } = throttle
    const records = page.records.slice(0, countMax)
    await throttle.pass(records.length)
    if (records.length === page.records.length) return page
    const { next } = records.at(-1)!
    this.#rest.set(partition, { at: next, page: { ...page, records: page.records.slice(countMax) } })
    return { ...page, records, next, atEnd: false }
  }
}

function passed(next: string): Page {
  return { kind: 'records', records: [], next, atEnd: false, behind: null }
}

function ended(next: string): Page {
  return { kind: 'records', records: [], next, atEnd: true, behind: 0 }
}

function gone(reason: string): OncewardError {
  return new OncewardError(
    'configuration',
    `The log no longer has records that this campaign's plan covers: ${reason}. Applied messages stay applied and counted. Cancel the campaign and create another for the rest.`,
  )
}
