import { type FSWatcher, watch } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Clock } from '../../environment.ts'
import { OncewardError } from '../../errors.ts'
import { bareCopy, emptyMap } from '../../message/bare-map.ts'
import type { LogRecord } from '../../ports/log-record.ts'
import type { Page } from '../../ports/range-reader.ts'
import type { Position } from '../../ports/source.ts'
import type { PullReader } from '../log/pull-source.ts'
import type { FileDeclaration } from './declaration.ts'
import {
  type FoundFile,
  fileAt,
  filesRotatedFrom,
  incarnationOf,
  isCompressed,
  matchingFiles,
} from './find-files.ts'
import { type Line, type Lines, readAt, readLines } from './read-lines.ts'

/**
 * The position after a file that was read to its end and is gone: a file that appears under its name is new.
 */
const nothing: Position = { incarnation: 'none', next: '0' }

const rotationDefaultMs = 2_000
/** A missing file counts as lost after this time: disks are mounted again, files put back. */
const doubtMs = 2_000

interface OpenFile {
  readonly handle: FileHandle
  readonly incarnation: string
  /** Since when the file has left its path, with its size then. */
  gone: { readonly sinceMs: number; readonly size: number } | null
}

/**
 * Reads JSON lines. A file is held open while it is read, so a rename or removal loses nothing: the reader
 * reads it to its end, and only then its successor. A file that cannot be proven to have been read is
 * declared lost: it shrank, was rewritten, or disappeared while no process watched.
 */
export class FileReader implements PullReader {
  readonly origin: string
  readonly #declaration: FileDeclaration
  readonly #clock: Clock
  readonly #open = new Map<string, OpenFile>()
  /** Since when a file has been missing. */
  readonly #doubted = new Map<string, number>()

  constructor(declaration: FileDeclaration, clock: Clock) {
    this.origin = declaration.pattern
    this.#declaration = declaration
    this.#clock = clock
  }

  async list(): Promise<readonly string[]> {
    const { pattern, until } = this.#declaration
    const paths = await matchingFiles(pattern)
    if (paths.length === 0 && until === 'end') await assertFolder(pattern)
    const followed = new Set([...this.#open.values()].map(({ incarnation }) => incarnation))
    const found = await Promise.all(paths.map(path => fileAt(path)))
    // A file that is still followed under its old name is not a partition of its own.
    return paths.filter((path, index) => {
      const here = found[index] ?? null
      return this.#open.has(path) || here === null || !followed.has(here.incarnation)
    })
  }

  async begin(path: string): Promise<Position> {
    const found = await fileAt(path)
    if (found !== null) return { incarnation: found.incarnation, next: '0' }
    if (this.#declaration.until !== 'end') return nothing
    throw new OncewardError(
      'configuration',
      `There is no file ${path}, and the source is declared to read it to its end. Nothing was read. Correct the path, or omit \`until\` to wait for it.`,
    )
  }

  async read(path: string, from: Position): Promise<Page> {
    if (from.incarnation === nothing.incarnation) return this.#awaited(path)
    const file = await this.#find(path, from.incarnation)
    if (file === null) return this.#vanished(path, from)
    const at = Number(from.next)
    const { size } = await file.handle.stat()
    const wrong = await misplaced(file.handle, at, size)
    // At once: by the next look it might have grown past our position, undetected.
    if (wrong !== null) return { kind: 'lost', to: { ...from, next: '0' }, records: null, reason: wrong }
    this.#doubted.delete(path)
    const { lineBytesMax = 1024 * 1024, until } = this.#declaration
    const lines = await readLines(file.handle, at, lineBytesMax, until === 'end')
    if (lines.lines.length > 0 || !lines.atEnd) return this.#page(path, lines)
    return this.#atEnd(path, file, lines, size)
  }

  watch(onChange: () => void): () => void {
    let watcher: FSWatcher | null = null
    try {
      watcher = watch(dirname(this.#declaration.pattern), { persistent: false }, onChange)
      watcher.on('error', () => watcher?.close())
    } catch {
      // Only a hint: polling finds the rest.
    }
    return () => watcher?.close()
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map(({ handle }) => handle.close()))
    this.#open.clear()
  }

  async #awaited(path: string): Promise<Page> {
    const found = await fileAt(path)
    if (found !== null) return { kind: 'moved', to: { incarnation: found.incarnation, next: '0' } }
    return { kind: 'records', records: [], next: nothing.next, atEnd: true, behind: 0 }
  }

  /** Still open, at its path, or at a path it was renamed to. */
  async #find(path: string, incarnation: string): Promise<OpenFile | null> {
    const known = this.#open.get(path)
    if (known?.incarnation === incarnation) return known
    await this.#release(path)
    const all = await filesRotatedFrom(path)
    const found = all.find(one => one.incarnation === incarnation)
    if (found === undefined) return null
    const handle = await open(found.path)
    if (incarnationOf(await handle.stat({ bigint: true })) !== incarnation) {
      await handle.close()
      return null
    }
    const file: OpenFile = { handle, incarnation, gone: null }
    this.#open.set(path, file)
    return file
  }

  async #vanished(path: string, from: Position): Promise<Page> {
    await assertReachable(dirname(path))
    const reason = `the file read up to byte ${from.next} is gone, and its end was not seen`
    this.#doubt(path, reason)
    const successor = await fileAt(path)
    const to = successor === null ? nothing : { incarnation: successor.incarnation, next: '0' }
    return { kind: 'lost', to, records: null, reason }
  }

  /** Throws, so that the file is looked for again, until it has been missing long enough. */
  #doubt(path: string, reason: string): void {
    const nowMs = this.#clock.nowMs()
    const sinceMs = this.#doubted.get(path) ?? nowMs
    this.#doubted.set(path, sinceMs)
    if (nowMs - sinceMs < doubtMs)
      throw new Error(`${reason}; the source looks for it again before that counts as a loss`)
    this.#doubted.delete(path)
  }

  /**
   * Nothing more in this file. While it is at its path it may grow; elsewhere it ends once it has not changed
   * for a while.
   */
  async #atEnd(path: string, file: OpenFile, lines: Lines, size: number): Promise<Page> {
    const now = await fileAt(path)
    if (now?.incarnation === file.incarnation) {
      file.gone = null
      return this.#page(path, lines)
    }
    if (file.gone?.size !== size) file.gone = { sinceMs: this.#clock.nowMs(), size }
    const { rotationMs = rotationDefaultMs } = this.#declaration
    if (this.#clock.nowMs() - file.gone.sinceMs < rotationMs)
      return { ...this.#page(path, lines), mayEnd: true }
    if (lines.rest > 0) {
      const { lineBytesMax = 1024 * 1024 } = this.#declaration
      return this.#page(path, await readLines(file.handle, lines.next, lineBytesMax, true))
    }
    return this.#successor(path, file)
  }

  async #successor(path: string, file: OpenFile): Promise<Page> {
    const all = await filesRotatedFrom(path)
    const mine = all.findIndex(one => one.incarnation === file.incarnation)
    const stats = await file.handle.stat({ bigint: true })
    const born = stats.birthtimeNs || stats.mtimeNs
    // Removed, it is in no list any more.
    const younger = mine >= 0 ? all.slice(mine + 1) : all.filter(one => one.bornNs > born)
    // Compression makes a file young and keeps the time of its last line. One with a time before ours was
    // read before ours.
    const { rotationMs = rotationDefaultMs } = this.#declaration
    const isLater = (one: FoundFile) =>
      !isCompressed(one) || Number(one.writtenNs - born) > rotationMs * 1_000_000
    const later = younger.filter(isLater)
    const next = later.find(one => !isCompressed(one)) ?? (mine >= 0 ? null : await fileAt(path))
    const to = next === null ? nothing : { incarnation: next.incarnation, next: '0' }
    if (later[0] !== undefined && isCompressed(later[0])) {
      const reason = `${later[0].path} was compressed before it was read`
      return { kind: 'lost', to, records: null, reason }
    }
    return { kind: 'moved', to }
  }

  #page(path: string, { lines, next, atEnd }: Lines): Extract<Page, { kind: 'records' }> {
    const records = lines.map(line => recordOf(path, line))
    return { kind: 'records', records, next: String(next), atEnd, behind: atEnd ? 0 : null }
  }

  async #release(path: string): Promise<void> {
    await this.#open.get(path)?.handle.close()
    this.#open.delete(path)
  }
}

/** Why the file is not the one we read before, although it has the same inode; null when it seems to be. */
async function misplaced(handle: FileHandle, at: number, size: number): Promise<string | null> {
  if (size < at) return `the file shrank to ${size} bytes, and the position is ${at}`
  if (at === 0) return null
  const [before] = await readAt(handle, at - 1, 1)
  // A last line may have been taken without its line feed, which then arrives later.
  const [after] = await readAt(handle, at, 1)
  if (before === 0x0a || after === undefined || after === 0x0a || after === 0x0d) return null
  return `the file was rewritten: no line begins at byte ${at}`
}

/**
 * A folder without such files may have been read before. A missing folder is a mistake, and must not pass for
 * an empty one.
 */
async function assertFolder(pattern: string): Promise<void> {
  const folder = dirname(pattern)
  const found = await stat(folder).catch(() => null)
  if (found?.isDirectory()) return
  throw new OncewardError(
    'configuration',
    `There is no folder ${folder}, and the source is declared to read ${pattern} to its end. Nothing was read. Correct the path, or omit \`until\` to wait for it.`,
  )
}

/**
 * When the folder itself is unavailable, as on a disk that is not mounted, nothing is known about its files.
 */
async function assertReachable(folder: string): Promise<void> {
  const found = await stat(folder)
  if (!found.isDirectory()) throw new Error(`${folder} is not a folder`)
}

export function recordOf(path: string, { body, bytes, at, next }: Line): LogRecord {
  const whole = bytes === body.length
  return {
    body,
    headers: whole ? emptyMap : bareCopy({ 'onceward-line-bytes': bytes }),
    // No codec can read it: part of a line must never pass for a message.
    properties: whole ? emptyMap : bareCopy({ contentEncoding: 'cut off: the line is too long' }),
    key: null,
    at: String(at),
    next: String(next),
    position: `${path}@${at}`,
    redelivered: false,
  }
}
