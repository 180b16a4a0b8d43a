import { readChunk } from './wire/chunk.ts'
import { type OffsetSpec, queryStats, type StreamStats, subscribe, unsubscribe } from './wire/commands.ts'
import type { StreamConnection } from './wire/connection.ts'

/** The offsets that a stream contains at present. */
export interface Extent {
  /** The first available offset. */
  readonly first: number
  /** One past the last; the offset the next record gets at the earliest. */
  readonly end: number
  /** Where the newest chunk with records begins; null when there are no records. */
  readonly lastChunk: number | null
  /** One past the last record; the broker may have used later offsets internally. */
  readonly recordsEnd: number
  /**
   * First offsets of the oldest and the newest committed chunk in the broker's statistics; -1 when there is
   * none, or it is not known yet.
   */
  readonly firstChunk: number
  readonly committedChunk: number
  /** First offset of the newest chunk that the queried node has written, committed or not. */
  readonly tail: number
  /**
   * True when every record of the newest committed chunk was counted; else there may be records after `end`.
   */
  readonly whole: boolean
}

/**
 * The extent that the broker reports now; while it recovers, that is less than it has (see `confirm-extent`).
 * The statistics are queried first, so the end includes the chunk they name as newest, with all its records.
 * Queried last, they could name a chunk committed since, of which only the first record was counted.
 */
export async function surveyExtent(connection: StreamConnection, stream: string): Promise<Extent> {
  const stats = await queryStats(connection, stream)
  const { committedChunk } = stats
  const last = await lookAt(connection, stream, 'last')
  // The newest chunk on disk may not be committed yet, and then the broker serves nothing from there.
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
    // A replica that lacks the committed chunk cannot serve it. If no chunk is served, only an internal chunk
    // of the broker can be the last committed one.
    whole: committedChunk <= tail && (newest !== null || committedChunk === tail),
  }
}

export interface FoundChunk {
  readonly firstOffset: number
  readonly records: number
}

/**
 * The first chunk with records at or after a position, or null when there is none yet. The broker has no
 * command for the end of a stream. But it serves a new subscription before the next command on its
 * connection. If that command is answered before a chunk arrives, there is none.
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
