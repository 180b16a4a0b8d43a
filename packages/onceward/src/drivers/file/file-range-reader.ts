import { open } from 'node:fs/promises'
import { OncewardError } from '../../errors.ts'
import type { Edge, Edges, LogRange, Page, RangeReader } from '../../ports/range-reader.ts'
import type { Position } from '../../ports/source.ts'
import { recordOf } from './file-reader.ts'
import { fileAt, matchingFiles } from './find-files.ts'
import { readLines } from './read-lines.ts'

const lineBytesMax = 1024 * 1024

/**
 * Files of JSON lines as they were at one moment. Lines appended later are not read; a file that shrank or
 * was replaced is a loss.
 */
export class FileRangeReader implements RangeReader {
  readonly origin: string

  constructor(pattern: string) {
    this.origin = pattern
  }

  /** Files have no times: a range is the whole file, or begins at a byte at which a line begins. */
  async survey({ start, end }: Edges): Promise<readonly LogRange[]> {
    for (const edge of [start, end])
      if (typeof edge === 'object' && 'timestampMs' in edge)
        throw refuse('a file has no times; leave them out, or give bytes at which lines begin')
    const ranges: LogRange[] = []
    for (const path of await matchingFiles(this.origin)) {
      const found = await fileAt(path)
      if (found === null) throw refuse(`there is no file ${path}`)
      const handle = await open(path)
      const { size } = await handle.stat().finally(() => handle.close())
      const at = (edge: Edge) => {
        if (typeof edge === 'object') return 'offsets' in edge ? (edge.offsets[path] ?? null) : null
        return edge === 'first' ? 0 : size
      }
      const [from, to] = [at(start), at(end)]
      if (from === null || to === null) continue
      if (from > size || to > size) throw refuse(`${path} has ${size} bytes`)
      const { incarnation } = found
      ranges.push({ partition: path, incarnation, from: String(from), to: String(Math.max(from, to)) })
    }
    return ranges
  }

  async read(path: string, { incarnation, next }: Position): Promise<Page> {
    const found = await fileAt(path)
    if (found === null || found.incarnation !== incarnation)
      return { kind: 'lost', to: null, records: null, reason: `${path} is another file now, or gone` }
    const handle = await open(path)
    try {
      const { size } = await handle.stat()
      if (size < Number(next))
        return { kind: 'lost', to: null, records: null, reason: `${path} shrank to ${size} bytes` }
      const lines = await readLines(handle, Number(next), lineBytesMax, true)
      const records = lines.lines.map(line => recordOf(path, line))
      return { kind: 'records', records, next: String(lines.next), atEnd: lines.atEnd, behind: null }
    } finally {
      await handle.close()
    }
  }

  async close(): Promise<void> {}
}

function refuse(why: string): OncewardError {
  return new OncewardError('configuration', `Files cannot be replayed: ${why}. Nothing was read.`)
}
