import { hash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import type { CampaignMode } from '../../contract/handler.ts'
import { ArchiveLines, digestOfFile } from './archive-lines.ts'
import { type ArchivedFile, LeftOutCount } from './archive-plan.ts'
import { type ArchivedRow, ageOf, readRow } from './archived-row.ts'
import { openArchived, refuse } from './find-archive.ts'

/** Which messages are wanted, and for which mode. */
export interface ArchiveScope {
  readonly path: string
  /** All names of the consumer: a pass during a rename wrote under two. */
  readonly names: ReadonlySet<string>
  readonly generation: number
  readonly mode: CampaignMode
  /** The contract identifies messages by their position in the log. */
  readonly idsByPosition: boolean
}

export interface ArchiveSurvey {
  readonly files: readonly ArchivedFile[]
  readonly leftOut: LeftOutCount
  /**
   * By row, the line that is read. Retention may have crashed between archiving and removing a row. Its last
   * line shows the row as it was removed.
   */
  readonly places: ReadonlyMap<string, number>
  readonly lines: number
  readonly oldestMs: number | null
}

const rowsMax = 1_000_000

/** Reads every file once. Files of a plan must be unchanged. */
export async function surveyArchive(
  scope: ArchiveScope,
  files: readonly (string | ArchivedFile)[],
): Promise<ArchiveSurvey> {
  const sums: Sums = { leftOut: new LeftOutCount(), places: new Map(), lines: 0, oldestMs: null }
  const surveyed: ArchivedFile[] = []
  for (const file of files) {
    const opened =
      typeof file === 'string' ? await openWhole(scope.path, file) : await openPlanned(scope.path, file)
    surveyed.push(await surveyFile(opened, scope, sums).finally(() => opened.handle.close()))
  }
  return { ...sums, files: surveyed }
}

interface Sums {
  readonly leftOut: LeftOutCount
  readonly places: Map<string, number>
  lines: number
  oldestMs: number | null
}

async function surveyFile(opened: Opened, scope: ArchiveScope, sums: Sums): Promise<ArchivedFile> {
  const { name, bytes, digest } = opened
  const before = sums.lines
  const read = new ArchiveLines(opened)
  for await (const some of read)
    for (const line of some) {
      take(readRow(line, lineOf(name, sums.lines - before)), scope, sums)
      sums.lines++
    }
  if (read.torn) sums.leftOut.add(`torn end of ${name}, of rows that were not removed`)
  return { name, bytes, digest, lines: sums.lines - before }
}

function take(row: ArchivedRow, scope: ArchiveScope, sums: Sums): void {
  const { leftOut, places } = sums
  const why = whyLeftOut(row, scope)
  if (why !== null) return leftOut.add(why)
  const key = rowKey(row)
  if (places.has(key)) leftOut.add('rows that were archived more than once')
  else if (places.size === rowsMax) throw refuse(`it has more than ${rowsMax} rows: give fewer files`)
  places.set(key, sums.lines)
  sums.oldestMs = Math.min(sums.oldestMs ?? Number.POSITIVE_INFINITY, ageOf(row))
}

/**
 * Rows of two databases may share a number, and the digest covers only the body: messages with equal bodies
 * differ by their identities. Hashed, because up to a million keys are kept.
 */
export const rowKey = ({ id, digest, message_id, origin, position }: ArchivedRow): string =>
  `${id}/${hash('sha256', JSON.stringify([digest, message_id, origin, position ?? null])).slice(0, 18)}`

export const lineOf = (name: string, index: number): string => `${name}, line ${index + 1}`

const unsure: ReadonlySet<string> = new Set(['conflict', 'behind_horizon'])

/**
 * The other message of a conflict was applied, and a message behind the horizon may have been. Their markers
 * are older than the row, so its age does not show whether they still exist.
 */
function whyLeftOut(row: ArchivedRow, scope: ArchiveScope): string | null {
  const { names, generation, mode, idsByPosition } = scope
  if (typeof row.generation !== 'number') return 'rows that name no consumer generation'
  if (row.consumer === undefined || !names.has(row.consumer)) return 'rows of other consumers'
  if (row.generation !== generation) return 'rows of other generations'
  if (idsByPosition && row.message_id === null)
    return 'rows without an id: their position in an archive is not the one in the log'
  if (mode === 'forensic' || mode === 'rebuild' || !unsure.has(row.code)) return null
  return `rows that may have been applied before (${row.code}), for forensic and rebuild only`
}

interface Opened {
  readonly name: string
  readonly handle: FileHandle
  readonly bytes: number
  readonly digest: string
}

async function openWhole(path: string, name: string): Promise<Opened> {
  const handle = await openArchived(path, name)
  return orClose(handle, async () => {
    const { size: bytes } = await handle.stat()
    return { name, handle, bytes, digest: await digestOfFile({ name, handle, bytes }) }
  })
}

/** Refuses a file that is missing or has changed. Appended bytes are ignored. */
export async function openPlanned(path: string, { name, bytes, digest }: ArchivedFile): Promise<Opened> {
  const handle = await openArchived(path, name)
  return orClose(handle, async () => {
    if ((await digestOfFile({ name, handle, bytes })) !== digest) throw changed(name)
    return { name, handle, bytes, digest }
  })
}

async function orClose<T>(handle: FileHandle, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    await handle.close()
    throw error
  }
}

export const changed = (name: string) => refuse(`${name} has changed since the preview`)
