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
  'Applied messages stay applied and counted. Restore the file and resume, or cancel the campaign and create another for the rest.'

/**
 * Reads the archived messages of a plan in the order of archiving. A position is a line number over all files
 * of the plan.
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
   * Rejects with a `configuration` error when any file of the plan has changed, before it delivers a message.
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
      // The next read starts again: after an error, the generator would look exhausted.
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
      // The digest matched just before. Fewer lines would shift all later positions.
      if (index !== file.lines) throw changed(file.name)
    } finally {
      await opened.handle.close()
    }
  }
}

/** `next` is the number of the next line. */
interface Lines {
  readonly all: AsyncGenerator<Line, void>
  next: number
}

interface Line {
  readonly bytes: Buffer
  /** File and line, for error texts. */
  readonly where: string
}
