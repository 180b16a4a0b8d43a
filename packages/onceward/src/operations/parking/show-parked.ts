import { assertUsable } from '../../drivers/postgres/assert-usable.ts'
import {
  type ParkedEvent,
  type ParkedFacts,
  readFacts,
  readHeldBody,
  readTimeline,
} from '../../drivers/postgres/parking/read-details.ts'
import type { ParkedRow } from '../../drivers/postgres/parking/read-parked.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { refused } from '../act.ts'
import { listParked } from './list-parked.ts'

/** Everything recorded about one parked message. */
export interface ParkedDetails extends ParkedRow, ParkedFacts {
  readonly body: Payload
  readonly timeline: readonly ParkedEvent[]
}

/** The first bytes of a body, as text or in hexadecimal. */
export interface Payload {
  readonly as: 'text' | 'hex'
  readonly content: string
  readonly bytes: number
  readonly whole: boolean
}

export const shownBytesMax = 64 * 1024

/** One message that needs attention, with its history. */
export async function showParked(pool: SqlPool, id: string): Promise<ParkedDetails> {
  const [row] = await listParked(pool, { ids: [id], countMax: 1 })
  if (row === undefined) throw refused(`Message ${id} is not parked; it may already be finished.`)
  const facts = await readFacts(pool, id, shownBytesMax)
  if (facts === null) throw refused(`A worker leased message ${id} a moment ago.`)
  const { consumer_id, start, ...rest } = facts
  const timeline = await readTimeline(pool, id, consumer_id, row.messageId)
  return { ...row, ...rest, body: payload(start, row.bodyBytes), timeline }
}

/** The whole body as it is now. */
export async function readBody(pool: SqlPool, id: string): Promise<Buffer> {
  await assertUsable(pool)
  const body = await readHeldBody(pool, id)
  if (body === null) throw refused(`Message ${id} is not held.`)
  return body
}

/** Text that was cut inside a character is still text. */
export function payload(start: Buffer, bytes: number): Payload {
  const whole = start.length === bytes
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  try {
    return { as: 'text', content: decoder.decode(start, { stream: !whole }), bytes, whole }
  } catch {
    return { as: 'hex', content: start.toString('hex'), bytes, whole }
  }
}
