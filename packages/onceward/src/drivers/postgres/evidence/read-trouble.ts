import type { SqlClient } from '../pool.ts'
import type { MessageOfConsumer } from './read-marker.ts'

const attempts = `
  select number, at, run_id as "runId", failure_class as "failureClass", code, error, place
  from onceward.attempt where consumer_id = $1 and message_id = $2 order by number limit 1000`

export interface AttemptRow {
  readonly number: number
  readonly at: Date
  readonly runId: number | null
  readonly failureClass: string
  readonly code: string
  readonly error: string
  readonly place: string
}

export async function readAttempts(
  client: SqlClient,
  { consumerId, messageId }: MessageOfConsumer,
): Promise<readonly AttemptRow[]> {
  return (await client.query(attempts, [consumerId, messageId])).rows
}

const notes = `
  select code, detail, at, times, last_at as "lastAt", run_id as "runId", held_id::text as "heldId"
  from onceward.note where consumer_id = $1 and message_id = $2 order by at limit 1000`

export interface NoteRow {
  readonly code: string
  readonly detail: string
  readonly at: Date
  readonly times: number
  readonly lastAt: Date | null
  readonly runId: number | null
  readonly heldId: string | null
}

export async function readNotes(
  client: SqlClient,
  { consumerId, messageId }: MessageOfConsumer,
): Promise<readonly NoteRow[]> {
  return (await client.query(notes, [consumerId, messageId])).rows
}
