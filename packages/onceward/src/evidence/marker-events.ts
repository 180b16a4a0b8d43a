import type { Marker } from '../drivers/postgres/evidence/read-marker.ts'
import type { Event } from './explanation.ts'

const ends: Readonly<Record<string, string>> = {
  applied: 'its effect and its marker were committed together',
  ignored: 'it needed no effect',
  stale: 'a newer message was applied before it',
  duplicate: 'its effect had happened under another id',
}

/**
 * A marker is written when a message is first stored or applied, and updated when stored work is finished.
 */
export function markerEvents(marker: Marker): readonly Event[] {
  const { status, at, arrivedAt, because, runId, position, digest } = marker
  const end = ends[status]
  const facts = { status, position, digest, because }
  if (end === undefined) return [{ at, what: 'arrived', text: `stored, and ${status} now`, runId, facts }]
  const done: Event = { at, what: status, text: because ?? end, runId, facts }
  return arrivedAt === null ? [done] : [{ at: arrivedAt, what: 'arrived', text: 'stored for a worker' }, done]
}
