import type { SqlClient } from '../drivers/postgres/pool.ts'
import type { Event, Subject } from './explanation.ts'

const attempts = `
  select number, at, run_id as "runId", failure_class as "failureClass", code, error, place
  from onceward.attempt where consumer_id = $1 and message_id = $2 order by number limit 1000`

const notes = `
  select code, detail, at, times, last_at as "lastAt", run_id as "runId", held_id::text as "heldId"
  from onceward.note where consumer_id = $1 and message_id = $2 order by at limit 1000`

export interface Trouble {
  readonly events: readonly Event[]
  readonly attempts: number
  /** Deliveries after the first that were recognised, as far as they were noted. */
  readonly repeats: number
  /** Rows it was held under. */
  readonly heldIds: readonly string[]
  /** Messages it handed to the outbox, of targets that keep evidence. */
  readonly published: readonly PublishedTrace[]
}

export interface PublishedTrace {
  readonly id: string
  readonly target: string
  readonly at: Date
  readonly runId: number | null
}

/** Every attempt that failed, and what was said of the message meanwhile. */
export async function readTrouble(client: SqlClient, { consumerId, messageId }: Subject): Promise<Trouble> {
  const values = [consumerId, messageId]
  const [failed, said] = await Promise.all([client.query(attempts, values), client.query(notes, values)])
  const events: Event[] = failed.rows.map(({ number, at, runId, failureClass, code, error, place }) => ({
    at,
    what: `attempt ${number} failed`,
    text: [failureClass, code, error].filter(part => part !== '').join(': '),
    runId,
    facts: { number, failureClass, code, place },
  }))
  const published = said.rows.filter(note => note.code.startsWith(sent))
  for (const note of said.rows) if (!note.code.startsWith(sent)) events.push(...noteEvents(note))
  const repeated = said.rows.find(note => note.code === 'repeated')
  return {
    events,
    attempts: failed.rows.length,
    repeats: repeated?.times ?? 0,
    heldIds: said.rows.flatMap(note => note.heldId ?? []),
    published: published.map(({ code, detail, at, runId }) => ({
      id: code.slice(sent.length),
      target: detail,
      at,
      runId,
    })),
  }
}

const sent = 'published '

interface NoteRow {
  readonly code: string
  readonly detail: string
  readonly at: Date
  readonly times: number
  readonly lastAt: Date | null
  readonly runId: number | null
  readonly heldId: string | null
}

function noteEvents({ code, detail, at, times, lastAt, runId, heldId }: NoteRow): Event[] {
  const facts = { code, times, ...(heldId !== null && { heldId }) }
  if (lastAt === null)
    return [{ at, what: code, text: times > 1 ? `${detail} (${times} times)` : detail, runId, facts }]
  return [
    { at, what: code, text: `${detail} (the first of ${times} times)`, facts },
    { at: lastAt, what: code, text: `${detail} (the last of ${times} times)`, runId, facts },
  ]
}
