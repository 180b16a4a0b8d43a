import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { decode, encode, type SourceMapSegment } from '@jridgewell/sourcemap-codec'

interface SourceMap {
  readonly sources: readonly string[]
  readonly mappings: string
}

/**
 * Keeps one place of the sources for each line of the built files. Stack traces show lines; the columns were
 * 0.31 of 1.48 MB, packed.
 */
export function keepLinesOfMaps(folder: string): void {
  for (const name of globSync('**/*.js.map', { cwd: folder })) {
    const path = join(folder, name)
    const map = JSON.parse(readFileSync(path, 'utf8')) as SourceMap
    const lines = decode(map.mappings).map(firstPlace)
    writeFileSync(path, JSON.stringify({ ...map, names: [], mappings: encode(lines) }))
  }
}

/** Without the name of the symbol, which only a column has. */
function firstPlace(segments: readonly SourceMapSegment[]): SourceMapSegment[] {
  const placed = segments.find(segment => segment.length > 1)
  return placed === undefined ? [] : [[placed[0], placed[1]!, placed[2]!, placed[3]!]]
}
