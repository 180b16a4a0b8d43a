import type { SqlClient } from '../drivers/postgres/pool.ts'
import type { Event, Subject } from './explanation.ts'

export interface Marker {
  readonly status: string
  readonly at: Date
  readonly arrivedAt: Date | null
  readonly because: string | null
  readonly position: string | null
  readonly digest: string
  readonly runId: number
}

const read = `
  select status::text, at, arrived_at as "arrivedAt", reason as because, position, encode(digest, 'hex') as digest, run_id as "runId"
  from onceward.inbox where consumer_id = $1 and message_id = $2`

export async function readMarker(
  client: SqlClient,
  { consumerId, messageId }: Subject,
): Promise<Marker | null> {
  const { rows } = await client.query(read, [consumerId, messageId])
  return rows[0] ?? null
}

const ends: Readonly<Record<string, string>> = {
  applied: 'its effect and its marker were committed together',
  ignored: 'it needed no effect',
  stale: 'something newer had come before it',
  duplicate: 'its effect had happened under another id',
}

/** A marker is written when a message is first stored or applied, and once more when stored work is done. */
export function markerEvents(marker: Marker): readonly Event[] {
  const { status, at, arrivedAt, because, runId, position, digest } = marker
  const end = ends[status]
  const facts = { status, position, digest, because }
  if (end === undefined) return [{ at, what: 'arrived', text: `kept here, and ${status} now`, runId, facts }]
  const done: Event = { at, what: status, text: because ?? end, runId, facts }
  return arrivedAt === null
    ? [done]
    : [{ at: arrivedAt, what: 'arrived', text: 'kept here, to be worked on later' }, done]
}
