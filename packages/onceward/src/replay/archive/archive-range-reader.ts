import { OncewardError } from '../../errors.ts'
import type { LogRecord } from '../../ports/log-record.ts'
import type { LogRange, Page, RangeReader } from '../../ports/range-reader.ts'
import type { Position } from '../../ports/source.ts'
import type { Campaign } from '../campaign/campaign.ts'
import { ArchiveLines } from './archive-lines.ts'
import type { ArchivedFile } from './archive-plan.ts'
import { readRow, recordOf } from './archived-row.ts'
import { refuse } from './find-archive.ts'
import type { NameTerm } from './names-of.ts'
import { type ArchiveSelection, type Identified, scopeOf } from './plan-archive.ts'
import { changed, lineOf, openPlanned, rowKey, surveyArchive } from './survey-archive.ts'

const pageLines = 2_000
const pageBytes = 1024 * 1024
const midway =
  'What was done stays done and counted. Put the file back as it was and resume, or cancel the campaign and create another for what is left.'

/**
 * The archived messages of a plan, in the order in which they were archived. A place is the number of a line,
 * over all files of the plan.
 */
export class ArchiveRangeReader implements RangeReader {
  readonly origin: string
  readonly #path: string
  readonly #files: readonly ArchivedFile[]
  readonly #ranges: readonly LogRange[]
  readonly #places: ReadonlyMap<string, number>
  #lines: Lines | null = null

  private constructor(path: string, { plan }: Pick<Campaign, 'plan'>, places: ReadonlyMap<string, number>) {
    this.origin = path
    this.#path = path
    this.#files = plan!.archive!.files
    this.#ranges = plan!.ranges
    this.#places = places
  }

  /**
   * Rejects with a `configuration` error when anything the plan covers is not what it was, before any of it
   * is handed over.
   */
  static async open(
    terms: readonly NameTerm[],
    campaign: Campaign,
    selection: ArchiveSelection,
    consumer: Identified,
  ): Promise<ArchiveRangeReader> {
    const scope = scopeOf(campaign, selection, consumer, terms)
    const { places } = await surveyArchive(scope, campaign.plan!.archive!.files)
    return new ArchiveRangeReader(scope.path, campaign, places)
  }

  async survey(): Promise<readonly LogRange[]> {
    return this.#ranges
  }

  async read(_partition: string, from: Position): Promise<Page> {
    const lines = await this.#linesFrom(Number(from.next))
    try {
      return await this.#pageOf(lines)
    } catch (error) {
      // Asked again it begins anew: what has failed once would seem to be at its end.
      await this.close()
      throw error instanceof OncewardError ? refuse(String(error.details.why), midway) : error
    }
  }

  async close(): Promise<void> {
    await this.#lines?.all.return()
    this.#lines = null
  }

  async #pageOf(lines: Lines): Promise<Page> {
    const records: LogRecord[] = []
    const until = lines.next + pageLines
    for (let bytes = 0; lines.next < until && bytes < pageBytes; lines.next++) {
      const line = await lines.all.next()
      if (line.done) return { kind: 'records', records, next: String(lines.next), atEnd: true, behind: 0 }
      const record = this.#recordAt(line.value, lines.next)
      if (record !== null) records.push(record)
      bytes += line.value.bytes.length
    }
    return { kind: 'records', records, next: String(lines.next), atEnd: false, behind: null }
  }

  #recordAt({ bytes, where }: Line, at: number): LogRecord | null {
    const row = readRow(bytes, where)
    return this.#places.get(rowKey(row)) === at ? recordOf(row, at, where) : null
  }

  async #linesFrom(next: number): Promise<Lines> {
    if (this.#lines?.next === next) return this.#lines
    await this.close()
    this.#lines = { all: this.#readFrom(next), next }
    return this.#lines
  }

  async *#readFrom(from: number): AsyncGenerator<Line, void> {
    let first = 0
    for (const file of this.#files) {
      if (first + file.lines > from) yield* this.#linesOf(file, from - first)
      first += file.lines
    }
  }

  async *#linesOf(file: ArchivedFile, from: number): AsyncGenerator<Line, void> {
    const opened = await openPlanned(this.#path, file)
    try {
      let index = 0
      for await (const some of new ArchiveLines(opened))
        for (const line of some) {
          if (index >= from) yield { bytes: line, where: lineOf(file.name, index) }
          index++
        }
      // Its digest was right a moment ago. Fewer lines would shift the places of all that follow.
      if (index !== file.lines) throw changed(file.name)
    } finally {
      await opened.handle.close()
    }
  }
}

/** `next` is the number of the line that comes next. */
interface Lines {
  readonly all: AsyncGenerator<Line, void>
  next: number
}

interface Line {
  readonly bytes: Buffer
  /** For people: file and line. */
  readonly where: string
}
