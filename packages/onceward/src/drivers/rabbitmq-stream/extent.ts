import { readChunk } from './wire/chunk.ts'
import { type OffsetSpec, queryStats, type StreamStats, subscribe, unsubscribe } from './wire/commands.ts'
import type { StreamConnection } from './wire/connection.ts'

/** From where to where a stream reaches at this moment. */
export interface Extent {
  /** The first offset that is still there. */
  readonly first: number
  /** One past the last; the offset the next record gets at the earliest. */
  readonly end: number
  /** Where the newest chunk with records begins; null when there are no records. */
  readonly lastChunk: number | null
  /** One past the last record; behind it the broker may have used offsets for itself. */
  readonly recordsEnd: number
  /**
   * First offsets of the oldest and the newest committed chunk as the broker counts them; -1 where it has
   * none, or does not know yet.
   */
  readonly firstChunk: number
  readonly committedChunk: number
  /** First offset of the newest chunk the asked node has written, committed or not. */
  readonly tail: number
  /**
   * True where every record of the newest committed chunk was counted; else there may be records behind
   * `end`.
   */
  readonly whole: boolean
}

/**
 * What the broker says at this moment; while it recovers that is less than it has (see `confirm-extent`). The
 * statistics come first: the end is then at least that of the chunk they call the newest, however many
 * records it holds. Asked for last, they could name a chunk that was committed since, of which only the first
 * record was counted.
 */
export async function surveyExtent(connection: StreamConnection, stream: string): Promise<Extent> {
  const stats = await queryStats(connection, stream)
  const { committedChunk } = stats
  const last = await lookAt(connection, stream, 'last')
  // The newest chunk on disk may not be committed yet, and then nothing is served from there.
  const newest =
    last ?? (committedChunk < 0 ? null : await lookAt(connection, stream, { offset: committedChunk }))
  return toExtent(stats, newest)
}

export function toExtent(stats: StreamStats, newest: FoundChunk | null): Extent {
  const { firstChunk, committedChunk, lastChunk: tail } = stats
  const recordsEnd = newest === null ? 0 : newest.firstOffset + newest.records
  return {
    first: Math.max(firstChunk, 0),
    end: Math.max(recordsEnd, committedChunk + 1),
    lastChunk: newest?.firstOffset ?? null,
    recordsEnd,
    firstChunk,
    committedChunk,
    tail,
    // A replica that has not got the committed chunk cannot serve it. With no chunk served, only one of the
    // broker's own can be committed last.
    whole: committedChunk <= tail && (newest !== null || committedChunk === tail),
  }
}

export interface FoundChunk {
  readonly firstOffset: number
  readonly records: number
}

/**
 * The first chunk with records at or after a place, or null when there is none yet. The broker has no command
 * that says where a stream ends; but a new subscription is served before the next command on its connection
 * is, so an answer to that one without a chunk before it means that there is none.
 */
export async function lookAt(
  connection: StreamConnection,
  stream: string,
  from: OffsetSpec,
): Promise<FoundChunk | null> {
  let found: FoundChunk | null = null
  const id = await subscribe(
    connection,
    { stream, from, credit: 1 },
    {
      onChunk: (frame, at) => {
        const chunk = readChunk(frame, at)
        if (chunk !== null) found ??= { firstOffset: chunk.firstOffset, records: chunk.records }
      },
      onActive: (_active, answer) => answer(null),
    },
  )
  await queryStats(connection, stream)
  await unsubscribe(connection, id)
  return found
}
