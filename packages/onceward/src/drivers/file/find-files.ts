import { type BigIntStats, promises as fs } from 'node:fs'
import { basename, dirname, join } from 'node:path'

export interface FoundFile {
  readonly path: string
  /** The incarnation. An inode may be reused, so the time of its birth is part of it. */
  readonly incarnation: string
  readonly bornNs: bigint
  readonly writtenNs: bigint
}

export const incarnationOf = ({ ino, birthtimeNs }: BigIntStats): string => `${ino}.${birthtimeNs}`

/** The file at a path; null when there is none. */
export async function fileAt(path: string): Promise<FoundFile | null> {
  const stats = await fs.stat(path, { bigint: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
    throw error
  })
  if (stats === null || !stats.isFile()) return null
  const { birthtimeNs, mtimeNs } = stats
  return { path, incarnation: incarnationOf(stats), bornNs: birthtimeNs || mtimeNs, writtenNs: mtimeNs }
}

/**
 * Paths that match a pattern, whose folder is taken literally. A pattern that names a single file yields it
 * even before it exists, or while it is rotated.
 */
export async function matchingFiles(pattern: string): Promise<string[]> {
  const folder = dirname(pattern)
  const name = basename(pattern)
  if (!/[*?]/.test(name)) return [pattern]
  const escaped = name.replaceAll(/[\\^$.|+()[\]{}]/g, '\\$&')
  const matches = new RegExp(`^${escaped.replaceAll('*', '.*').replaceAll('?', '.')}$`, 's')
  const names = (await readFolder(folder)).filter(one => matches.test(one)).sort()
  const found = await Promise.all(names.map(one => fileAt(join(folder, one))))
  return found.filter(one => one !== null).map(one => one.path)
}

/**
 * The file at the path and those it was rotated to, oldest first. When the clock is too coarse the numbers
 * decide: `.2` is older than `.1`.
 */
export async function filesRotatedFrom(path: string): Promise<FoundFile[]> {
  const name = basename(path)
  const isRotated = (one: string) => one === name || one.startsWith(`${name}.`) || one.startsWith(`${name}-`)
  const names = (await readFolder(dirname(path))).filter(isRotated)
  const found = await Promise.all(names.map(one => fileAt(join(dirname(path), one))))
  const number = (one: FoundFile) => Number(/^\D(\d+)/.exec(basename(one.path).slice(name.length))?.[1] ?? 0)
  const older = (a: FoundFile, b: FoundFile) =>
    a.bornNs === b.bornNs ? number(b) - number(a) : a.bornNs < b.bornNs ? -1 : 1
  return found.filter(one => one !== null).sort(older)
}

export const isCompressed = ({ path }: FoundFile): boolean => /\.(gz|bz2|xz|zst|lz4|Z|zip)$/.test(path)

async function readFolder(folder: string): Promise<string[]> {
  return fs.readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
}
