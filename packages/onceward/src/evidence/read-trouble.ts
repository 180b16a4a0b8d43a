import { type NoteRow, readAttempts, readNotes } from '../drivers/postgres/evidence/read-trouble.ts'
import type { SqlClient } from '../drivers/postgres/pool.ts'
import type { Event, Subject } from './explanation.ts'

export interface Trouble {
  readonly events: readonly Event[]
  readonly attempts: number
  /** Recognised redeliveries, as far as they were recorded. */
  readonly repeats: number
  /** Rows it was held under. */
  readonly heldIds: readonly string[]
  /** Messages it published, to targets that keep evidence. */
  readonly published: readonly PublishedTrace[]
}

export interface PublishedTrace {
  readonly id: string
  readonly target: string
  readonly at: Date
  readonly runId: number | null
}

/** Failed attempts and notes. */
export async function readTrouble(client: SqlClient, subject: Subject): Promise<Trouble> {
  const [failed, said] = await Promise.all([readAttempts(client, subject), readNotes(client, subject)])
  const events: Event[] = failed.map(({ number, at, runId, failureClass, code, error, place }) => ({
    at,
    what: `attempt ${number} failed`,
    text: [failureClass, code, error].filter(part => part !== '').join(': '),
    runId,
    facts: { number, failureClass, code, place },
  }))
  const published = said.filter(note => note.code.startsWith(sent))
  for (const note of said) if (!note.code.startsWith(sent)) events.push(...noteEvents(note))
  const repeated = said.find(note => note.code === 'repeated')
  return {
    events,
    attempts: failed.length,
    repeats: repeated?.times ?? 0,
    heldIds: said.flatMap(note => note.heldId ?? []),
    published: published.map(({ code, detail, at, runId }) => ({
      id: code.slice(sent.length),
      target: detail,
      at,
      runId,
    })),
  }
}

const sent = 'published '

function noteEvents({ code, detail, at, times, lastAt, runId, heldId }: NoteRow): Event[] {
  const facts = { code, times, ...(heldId !== null && { heldId }) }
  if (lastAt === null)
    return [{ at, what: code, text: times > 1 ? `${detail} (${times} times)` : detail, runId, facts }]
  return [
    { at, what: code, text: `${detail} (the first of ${times} times)`, facts },
    { at: lastAt, what: code, text: `${detail} (the last of ${times} times)`, runId, facts },
  ]
}
