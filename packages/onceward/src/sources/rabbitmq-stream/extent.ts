import { readChunk } from './wire/chunk.ts'
import { type OffsetSpec, queryStats, subscribe, unsubscribe } from './wire/commands.ts'
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
}

export async function surveyExtent(connection: StreamConnection, stream: string): Promise<Extent> {
  const newest = await lookAt(connection, stream, 'last')
  const { firstChunk, committedChunk } = await queryStats(connection, stream)
  const recordsEnd = newest === null ? 0 : newest.firstOffset + newest.records
  return {
    first: Math.max(firstChunk, 0),
    end: Math.max(recordsEnd, committedChunk + 1),
    lastChunk: newest?.firstOffset ?? null,
    recordsEnd,
  }
}

/**
 * The first chunk with records at or after a place, or null when there is none yet. The broker has no command that says where a stream ends;
 * but a new subscription is served before the next command on its connection is, so an answer to that one without a chunk before it means
 * that there is none.
 */
export async function lookAt(
  connection: StreamConnection,
  stream: string,
  from: OffsetSpec,
): Promise<{ readonly firstOffset: number; readonly records: number } | null> {
  let found: { firstOffset: number; records: number } | null = null
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
