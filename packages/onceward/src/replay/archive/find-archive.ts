import { constants } from 'node:fs'
import { type FileHandle, open, readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { messageKinds } from '../../drivers/postgres/retention/kinds.ts'
import { errorCode, OncewardError } from '../../errors.ts'
import { LeftOutCount } from './archive-plan.ts'
import type { NameTerm } from './names-of.ts'

export interface FoundArchive {
  readonly names: readonly string[]
  readonly leftOut: LeftOutCount
}

const filesMax = 10_000

/** File names that retention writes: consumer, kind, the database's time, and a number to make it unique. */
const named = /^([a-z][a-z0-9_]*)\.([A-Za-z]+)\.(\d+)(?:\.(\d+))?\.jsonl(?:\.gz)?$/

/**
 * Files with complete messages of a consumer, under all of its names, oldest pass first. Other entries are
 * counted. Links in the folder are not followed.
 */
export async function findArchive(path: string, terms: readonly NameTerm[]): Promise<FoundArchive> {
  const leftOut = new LeftOutCount()
  const found: { name: string; at: number; number: number }[] = []
  for (const name of await namesAt(path, leftOut)) {
    const [, whose, kind, at, number = '1'] = named.exec(name) ?? []
    if (whose === undefined) leftOut.add('files whose name is not one of an archive')
    else if (!terms.some(({ name }) => name === whose)) leftOut.add('files of other consumers')
    else if (!terms.some(term => isWithin(term, whose, Number(at))))
      leftOut.add(`files of another consumer that was called ${whose} at that time`)
    else if (messageKinds.has(kind!)) found.push({ name, at: Number(at), number: Number(number) })
    else leftOut.add(`files of ${kind}, which hold no message`)
  }
  const consumer = terms.map(({ name }) => name).join(', before ')
  if (found.length === 0) {
    const seen = leftOut.list.map(({ what, count }) => `${count} ${what}`).join(', ')
    throw refuse(
      `${path} has no file with messages of ${consumer} (it has ${seen || 'nothing'}). Retention archives whole messages only of dead letters`,
    )
  }
  if (found.length > filesMax)
    throw refuse(`${path} has ${found.length} files of ${consumer}: give a folder with at most ${filesMax}`)
  found.sort((a, b) => a.at - b.at || a.number - b.number)
  return { names: found.map(({ name }) => name), leftOut }
}

/**
 * A pass that began in the millisecond of a rename used the old name: no process of the consumer runs during
 * a rename.
 */
function isWithin({ name, fromMs, toMs }: NameTerm, whose: string, atMs: number): boolean {
  return name === whose && atMs >= Math.ceil(fromMs) && atMs < Math.ceil(toMs)
}

async function namesAt(path: string, leftOut: LeftOutCount): Promise<readonly string[]> {
  const given = await stat(path).catch(error => {
    throw refuse(errorCode(error) === 'ENOENT' ? `${path} does not exist` : unreadable(path, error))
  })
  if (given.isFile()) return [basename(path)]
  if (!given.isDirectory()) throw refuse(`${path} is neither a folder nor a file`)
  const entries = await readdir(path, { withFileTypes: true }).catch(error => {
    throw refuse(unreadable(path, error))
  })
  const names: string[] = []
  for (const entry of entries) {
    if (entry.isFile()) names.push(entry.name)
    else leftOut.add('links and folders')
  }
  return names
}

/**
 * Opens a file of the archive folder, or the file at the path. Does not block on a pipe with the same name.
 */
export async function openArchived(path: string, name: string): Promise<FileHandle> {
  const given = await stat(path).catch(() => null)
  const inFolder = given?.isDirectory() ?? false
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | (inFolder ? constants.O_NOFOLLOW : 0)
  const handle = await open(join(inFolder ? path : dirname(path), basename(name)), flags).catch(error => {
    const isGone = ['ENOENT', 'ELOOP'].includes(errorCode(error))
    throw refuse(isGone ? `${name} no longer exists` : unreadable(name, error))
  })
  if ((await handle.stat()).isFile()) return handle
  await handle.close()
  throw refuse(`${name} no longer exists`)
}

const unreadable = (what: string, error: unknown) =>
  `${what} cannot be read: no permission, or the disk fails (${errorCode(error)})`

/** `so`: the consequence, for the operator. */
export function refuse(why: string, so = 'Nothing was changed.'): OncewardError {
  return new OncewardError('configuration', `This archive cannot be read: ${why}. ${so}`, {
    details: { why },
  })
}
