import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

export interface ArchiveOptions {
  readonly folder: string
  /** Each write is its own gzip member, so complete members stay readable when the end is torn. */
  readonly gzip?: boolean
}

/**
 * JSON lines of rows about to be removed. Each pass and kind has its own file, with one writer. A line is on
 * disk before its row is removed. A kill in between leaves rows that are archived again, and possibly a torn
 * last line, which belongs to rows that were not removed.
 */
export class ArchiveFile {
  readonly #options: ArchiveOptions
  readonly #name: string
  #file: FileHandle | null = null

  constructor(options: ArchiveOptions, name: string) {
    this.#options = options
    this.#name = name
  }

  /** Resolves when the lines are on disk. */
  async write(rows: readonly unknown[]): Promise<void> {
    if (rows.length === 0) return
    this.#file ??= await this.#create()
    const lines = Buffer.from(rows.map(row => `${JSON.stringify(row)}\n`).join(''))
    await this.#file.appendFile(this.#options.gzip ? gzipSync(lines) : lines)
    await this.#file.sync()
  }

  async close(): Promise<void> {
    await this.#file?.close()
    this.#file = null
  }

  async #create(): Promise<FileHandle> {
    const { folder, gzip } = this.#options
    await mkdir(folder, { recursive: true, mode: 0o750 })
    const file = await this.#openNew(join(folder, this.#name), gzip ? '.jsonl.gz' : '.jsonl')
    // The directory entry must survive a power cut too.
    const parent = await open(folder, 'r')
    await parent.sync().finally(() => parent.close())
    return file
  }

  async #openNew(path: string, suffix: string): Promise<FileHandle> {
    for (let number = 1; ; number++) {
      try {
        return await open(`${path}${number === 1 ? '' : `.${number}`}${suffix}`, 'ax', 0o640)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || number > 1_000) throw error
      }
    }
  }
}
