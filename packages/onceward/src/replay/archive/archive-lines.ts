import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { createGunzip, type Gunzip } from 'node:zlib'
import { refuse } from './find-archive.ts'

export interface ArchiveLinesOptions {
  readonly name: string
  readonly handle: FileHandle
  /** How many bytes of the file are read. */
  readonly bytes: number
  /** Longest line, uncompressed. */
  readonly lineBytesMax?: number
}

const chunkBytes = 256 * 1024
const lineBytesDefault = 64 * 1024 * 1024
const lineFeed = 0x0a

/**
 * The lines of one archived file, in groups, gunzipped while reading. At most a chunk and a line are in
 * memory. A torn end, left by a crash of retention, belongs to rows that were not removed: it is skipped and
 * reported in `torn`. Any other unreadable content is refused.
 */
export class ArchiveLines {
  /** Set at the end. */
  torn = false
  #count = 0
  readonly #options: ArchiveLinesOptions

  constructor(options: ArchiveLinesOptions) {
    this.#options = options
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly Buffer[], void> {
    const { name } = this.#options
    const bytes = name.endsWith('.gz') ? this.#unzipped() : read(this.#options)
    const begun: Buffer[] = []
    let begunBytes = 0
    for await (const chunk of bytes) {
      const lines: Buffer[] = []
      let start = 0
      for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, start)) {
        begunBytes += end - start
        this.#assertShort(begunBytes)
        lines.push(Buffer.concat([...begun.splice(0), chunk.subarray(start, end)]))
        this.#count++
        begunBytes = 0
        start = end + 1
      }
      begun.push(chunk.subarray(start))
      begunBytes += chunk.length - start
      this.#assertShort(begunBytes)
      if (lines.length > 0) yield lines
    }
    if (begunBytes > 0) this.torn = true
  }

  #assertShort(lineBytes: number): void {
    const { name, lineBytesMax = lineBytesDefault } = this.#options
    if (lineBytes > lineBytesMax)
      throw refuse(`${name}, line ${this.#count + 1}, is longer than ${lineBytesMax} bytes`)
  }

  async *#unzipped(): AsyncGenerator<Buffer> {
    const gunzip = createGunzip({ chunkSize: chunkBytes })
    // The reader throws it.
    gunzip.on('error', () => {})
    try {
      for await (const chunk of read(this.#options)) {
        yield* putOut(gunzip, done => gunzip.write(chunk, done))
        if (gunzip.readableEnded) break
      }
      // The stream finishes before it checks its end, which may fail, so wait for `end`.
      yield* putOut(gunzip, () => gunzip.end())
      await this.#assertRead(gunzip.bytesWritten)
    } catch (error) {
      const { code } = error as { code?: string }
      if (code === 'Z_BUF_ERROR') this.torn = true
      else if (code?.startsWith('Z_')) throw this.#damaged((error as Error).message)
      else throw error
    } finally {
      gunzip.destroy()
    }
  }

  /**
   * Zero bytes end gunzip silently. At the end of a file a power cut leaves them; before other bytes they are
   * damage.
   */
  async #assertRead(taken: number): Promise<void> {
    const { bytes } = this.#options
    if (taken === bytes) return
    for await (const chunk of read(this.#options, taken))
      if (chunk.some(byte => byte !== 0)) throw this.#damaged(`no member begins at byte ${taken}`)
    this.torn = true
  }

  #damaged(why: string) {
    return refuse(`${this.#options.name} is damaged after line ${this.#count}: ${why}`)
  }
}

/**
 * Yields the complete output of one step. An error discards output that was not read yet, and a torn end is
 * an error. In a pipeline, the lines before it would be delivered or not depending on the reader's speed.
 */
async function* putOut(gunzip: Gunzip, step: (done: () => void) => unknown): AsyncGenerator<Buffer> {
  let isDone = false
  let news = Promise.withResolvers<void>()
  const look = () => news.resolve()
  const events = ['readable', 'end', 'error'] as const
  for (const event of events) gunzip.on(event, look)
  try {
    step(() => {
      isDone = true
      look()
    })
    for (;;) {
      for (let chunk = gunzip.read(); chunk !== null; chunk = gunzip.read()) yield chunk as Buffer
      if (gunzip.errored) throw gunzip.errored
      if (isDone || gunzip.readableEnded) return
      await news.promise
      news = Promise.withResolvers()
    }
  } finally {
    for (const event of events) gunzip.off(event, look)
  }
}

/** SHA-256 of the bytes read. */
export async function digestOfFile(options: ArchiveLinesOptions): Promise<string> {
  const sha = createHash('sha256')
  for await (const chunk of read(options)) sha.update(chunk)
  return sha.digest('hex')
}

async function* read({ handle, bytes }: ArchiveLinesOptions, from = 0): AsyncGenerator<Buffer> {
  for (let at = from; at < bytes; ) {
    const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, bytes - at))
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, at)
    if (bytesRead === 0) return
    at += bytesRead
    yield chunk.subarray(0, bytesRead)
  }
}
