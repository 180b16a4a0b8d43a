import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createPool, createQueue, hint, publish } from 'onceward/postgres'
import type { RequestAnswered } from './messages.ts'
import { readSettings } from './settings.ts'

/** An answer of a team, so many minutes after eight o'clock. */
export function answered(
  eventId: string,
  afterMinutes: number,
  changes: Partial<RequestAnswered> = {},
): RequestAnswered {
  return {
    messageId: eventId,
    eventId,
    team: 'north',
    answeredAt: new Date(Date.UTC(2026, 0, 5, 8, afterMinutes)).toISOString(),
    minutes: '7.50',
    breached: false,
    ...changes,
  }
}

export async function send(
  pool: ReturnType<typeof createPool>,
  queue: string,
  events: readonly RequestAnswered[],
): Promise<void> {
  await publish(
    pool,
    queue,
    events.map(body => ({ body })),
  )
  await hint(pool, queue)
}

/**
 * Sends a day of two teams: every fifth event twice, every seventh under a new message id, every eleventh
 * corrected.
 */
export function sample(count: number): RequestAnswered[] {
  const events = Array.from({ length: count }, (_, n) =>
    answered(`e${n}`, (n * 7) % 480, { team: n % 2 === 0 ? 'north' : 'south', breached: n % 9 === 0 }),
  ).sort((a, b) => (a.answeredAt < b.answeredAt ? -1 : 1))
  const again = events.filter((_, n) => n % 5 === 0)
  const renamed = events
    .filter((_, n) => n % 7 === 0)
    .map(one => ({ ...one, messageId: `${one.messageId}-resent` }))
  const corrections = events
    .filter((_, n) => n % 11 === 0)
    .map(one => ({
      ...one,
      messageId: `fix-${one.eventId}`,
      eventId: `fix-${one.eventId}`,
      minutes: '1.25',
      corrects: one.eventId,
    }))
  return [...events, ...again, ...renamed, ...corrections]
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { answers: { type: 'string', default: '100' } } })
  const { queue } = readSettings()
  const pool = createPool(process.env.ONCEWARD_DATABASE_URL!, { max: 2 })
  await createQueue(pool, queue)
  const events = sample(Number(values.answers))
  await send(pool, queue, events)
  console.log(`${events.length} events in ${queue}`)
  await pool.end()
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
