import { OncewardError } from '../../errors.ts'
import type { Loss, OpenLoss, Ownership, Position } from '../../ports/source.ts'
import { declaredAgain, goesBack, isDeclaredAt, stillLost } from '../log/open-loss.ts'
import { type AskAgain, confirmExtent, confirmGone } from './confirm-extent.ts'
import { type Extent, lookAt, surveyExtent } from './extent.ts'
import { markIncarnation, proveLeader, readIncarnation, type StreamLeader } from './incarnation.ts'
import { type StreamDeclaration, type StreamStart, startTimeMs } from './stream.ts'
import { queryOffset } from './wire/commands.ts'
import type { StreamConnection } from './wire/connection.ts'

/** The facts known when a partition is assigned to this process. */
export interface StreamQuestion {
  readonly connection: StreamConnection
  /**
   * Called only when the node that is read from reports missing records, or a mark is written. Rejects when
   * the leader is unreachable.
   */
  readonly leader: () => Promise<StreamLeader>
  /** The leader has records that the node has dropped: from now on the leader is read. */
  readonly readFromLeader: () => void
  readonly declaration: StreamDeclaration
  readonly group: string
  readonly ownership: Ownership
  /** True when the broker's stored offset is authoritative, not the store's position. */
  readonly brokerKnows: boolean
  /** True when the store records each position before the broker does, and both before any effect. */
  readonly storedFirst?: boolean
  readonly timing?: AskAgain
}

/** Where to resume (`isNew`: for the first time, or past an accepted loss), or the loss. */
export type StreamResume = { readonly position: Position; readonly isNew: boolean } | { readonly loss: Loss }

/**
 * Decides where to resume. A subscription to a missing offset is no error for the broker: it silently begins
 * at the nearest one it has. So everything is checked before the subscription. The mark is checked first: the
 * stream's leader answers for it, and only after it has recovered. A stream that still has the group's mark
 * is the stream that was read, so an extent that contradicts it is queried again.
 */
export async function decidePosition(question: StreamQuestion): Promise<StreamResume> {
  const { connection, group, ownership, timing } = question
  const { partition, stored, resumeAt, openLoss } = ownership
  // The accepted loss first: it may be the only known position, and the stream may have been created again
  // since.
  const known = resumeAt ?? stored
  if (known === null) return begin(question)
  const incarnation = await confirmGone(
    () => readIncarnation(connection, group, partition),
    mark => mark === null,
    timing,
  )
  if (incarnation !== known.incarnation) return recreated(question, known, incarnation)
  if (resumeAt !== null) return resume(question, resumeAt)
  const position = { incarnation, next: await nextOf(question, known) }
  const extent = await extentFor(question, position)
  const decision = within(position, extent, partition, false)
  if ('loss' in decision) return { loss: declaredAgain(decision.loss, openLoss) }
  if (!isDeclaredAt(openLoss, position) || !goesBack(openLoss)) return decision
  // The stream did not have the position when the loss was declared. Records written since then are different
  // from those that were read.
  return (await isOlderThan(question, openLoss, extent)) ? decision : { loss: stillLost(partition, openLoss) }
}

/**
 * The broker may have lost an offset with its leader. If the store recorded a later position before any
 * effect, that position is used.
 */
async function nextOf(
  { connection, group, ownership, ...question }: StreamQuestion,
  known: Position,
): Promise<string> {
  const storedOffset = question.brokerKnows ? await queryOffset(connection, group, ownership.partition) : null
  if (storedOffset === null) return known.next
  const next = storedOffset + 1n
  return question.storedFirst && BigInt(known.next) > next ? known.next : String(next)
}

/**
 * Resumes behind an accepted loss, unless the stream only seemed shorter than it is: then going back would
 * apply records twice.
 */
async function resume(question: StreamQuestion, resumeAt: Position): Promise<StreamResume> {
  const { partition, openLoss } = question.ownership
  if (openLoss?.accepted && openLoss.from.incarnation === resumeAt.incarnation && goesBack(openLoss)) {
    const extent = await extentFor(question, openLoss.from)
    const isThere = !('loss' in within(openLoss.from, extent, partition, true))
    if (isThere && (await isOlderThan(question, openLoss, extent)))
      return { position: openLoss.from, isNew: true }
  }
  return within(resumeAt, await extentFor(question, resumeAt), partition, true)
}

/**
 * True when everything before the position was written before the loss was declared. Queries the leader,
 * because a replica may lack the newest records.
 */
async function isOlderThan(question: StreamQuestion, openLoss: OpenLoss, { end }: Extent): Promise<boolean> {
  const { connection } = await question.leader()
  const since = await lookAt(connection, question.ownership.partition, {
    timestampMs: Math.floor(openLoss.declaredMs),
  })
  return (since?.firstOffset ?? end) >= Number(openLoss.from.next)
}

async function recreated(
  question: StreamQuestion,
  known: Position,
  found: string | null,
): Promise<StreamResume> {
  const { group, ownership, timing } = question
  const { partition } = ownership
  const incarnation = found ?? (await markIncarnation(await question.leader(), group, partition, timing))
  const { first } = await extentFor(question, null)
  return {
    loss: {
      partition,
      from: known,
      to: { incarnation, next: String(first) },
      records: null,
      reason: 'the stream was deleted and created again: its records after this position are gone',
    },
  }
}

/**
 * Requires that the stream contains the group's mark. `position`: where to read; null when the whole extent
 * is needed.
 */
async function extentFor(question: StreamQuestion, position: Position | null): Promise<Extent> {
  const { connection, group, ownership, timing } = question
  const { partition } = ownership
  const next = Number(position?.next)
  let leader: StreamLeader | null = null
  let ownFirst = 0
  const extent = await confirmExtent({
    stream: partition,
    marked: true,
    ask: async again => {
      if (again) leader = await question.leader()
      const answer = await surveyExtent(leader?.connection ?? connection, partition)
      if (leader === null) ownFirst = answer.first
      return answer
    },
    fits: ({ first, end, whole }) => (position === null ? whole : next >= first && next <= end),
    ...(position !== null && {
      prove: () => proveLeader(leader!, group, partition, position.incarnation, timing),
    }),
    ...(timing !== undefined && { timing }),
  })
  if (position !== null && next < ownFirst && next >= extent.first) {
    question.readFromLeader()
    throw new Error(
      `a replica of ${partition} begins at ${ownFirst}: the records it has dropped are read from the leader`,
    )
  }
  return extent
}

/** A consumer without a position in this stream. */
async function begin(question: StreamQuestion): Promise<StreamResume> {
  const { connection, group, ownership, brokerKnows, declaration } = question
  const { partition } = ownership
  const storedOffset = await queryOffset(connection, group, partition)
  if (storedOffset === null || !brokerKnows) assertStart(declaration, storedOffset)
  // Before the extent is queried: with a mark the stream is not empty, so one that seems empty has not
  // recovered.
  const incarnation = (await readIncarnation(connection, group, partition)) ?? (await firstMark(question))
  if (storedOffset !== null && brokerKnows) {
    const position = { incarnation, next: String(storedOffset + 1n) }
    return within(position, await extentFor(question, position), partition, true)
  }
  const { start } = declaration
  const wanted = typeof start === 'number' ? { incarnation, next: String(start) } : null
  const extent = await extentFor(question, wanted)
  const next = await startOffset(connection, partition, start!, extent)
  return { position: { incarnation, next: String(next) }, isNew: true }
}

async function firstMark({ connection, leader, group, ownership, timing }: StreamQuestion): Promise<string> {
  const by = await leader().catch(() => ({ connection, node: null }))
  return markIncarnation(by, group, ownership.partition, timing)
}

function assertStart({ stream, start, group }: StreamDeclaration, storedOffset: bigint | null): void {
  if (start !== undefined) return
  const known =
    storedOffset === null
      ? ''
      : ` The broker has a stored offset, ${storedOffset}, for this group, but the contract keeps positions in the store.`
  throw new OncewardError(
    'configuration',
    `This consumer has never read stream ${stream}${group === undefined ? '' : ` as ${group}`}, and the contract does not say where to begin.${known} Nothing was consumed. Write start: 'first' to read all existing records, start: 'next' for new records only, or an offset or a timestamp.`,
  )
}

async function startOffset(
  connection: StreamConnection,
  stream: string,
  start: StreamStart,
  { first, end, lastChunk }: Extent,
): Promise<number> {
  if (start === 'first') return first
  if (start === 'next') return end
  if (start === 'last') return lastChunk ?? end
  if (typeof start === 'object') {
    const found = await lookAt(connection, stream, { timestampMs: startTimeMs(start) })
    return found?.firstOffset ?? end
  }
  if (start >= first && start <= end) return start
  throw new OncewardError(
    'configuration',
    `Stream ${stream} cannot be read from offset ${start}: it begins at ${first} and ends before ${end}. Nothing was consumed. Write a start within it, or 'first'.`,
  )
}

function within(position: Position, { first, end }: Extent, partition: string, isNew: boolean): StreamResume {
  const next = Number(position.next)
  if (next >= first && next <= end) return { position, isNew }
  const isPassed = next < first
  const to = { incarnation: position.incarnation, next: String(isPassed ? first : end) }
  const records = isPassed ? first - next : null
  const reason = isPassed
    ? `retention removed offsets ${next} to ${first - 1} before they were read`
    : `the position is ${next}, but the stream ends at ${end}: its newest records are lost, or it is another stream`
  return { loss: { partition, from: position, to, records, reason } }
}

/** The error of `receive` once a loss is recorded. */
export function recordsLost(loss: Loss): OncewardError {
  const { partition, from, to, records, reason } = loss
  const count =
    records === null ? 'The number of lost records is unknown' : `At most ${records} records are lost`
  const advice =
    to === null
      ? 'There is no position to resume from: create the stream again, or retire the consumer.'
      : `Restore them if you can; otherwise accept the loss, and the consumer resumes at ${to.next}.`
  return new OncewardError(
    'records_lost',
    `${partition}@${from.next}: ${reason}. ${count}. Nothing was settled; the loss is recorded. ${advice}`,
    { details: { ...loss } },
  )
}
