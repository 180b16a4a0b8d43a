import {
  findByBusinessKey,
  findHeldUnder,
  findTraced,
  type KnownConsumer,
  listConsumers,
} from '../drivers/postgres/evidence/find-subjects.ts'
import type { SqlClient } from '../drivers/postgres/pool.ts'
import { OncewardError } from '../errors.ts'
import { readId } from '../message/identity.ts'
import { nearestName } from '../ports/nearest-name.ts'
import type { Subject } from './explanation.ts'

/** All consumers, or those of one name, which must exist. */
export async function readConsumers(
  client: SqlClient,
  named: string | undefined,
): Promise<readonly KnownConsumer[]> {
  const all = await listConsumers(client)
  if (named === undefined) return all
  const found = all.filter(({ consumer }) => consumer === named)
  if (found.length > 0) return found
  const names = [...new Set(all.map(({ consumer }) => consumer))]
  const near = nearestName(named, names)
  const hint = near === null ? ` Known: ${names.join(', ') || 'none'}.` : ` Did you mean "${near}"?`
  throw new OncewardError('usage', `This database has no consumer "${named}".${hint} Nothing was changed.`)
}

/**
 * An id as it is stored. Long ids are stored as a hash, which may be given as well. An id that no marker can
 * have is refused with the reason.
 */
export function storedId(given: string, what: string): string {
  if (/^sha256:[0-9a-f]{64}$/.test(given)) return given
  const reading = readId(given)
  if ('id' in reading) return reading.id
  throw new OncewardError(
    'usage',
    `Nothing is stored under this ${what}: ${reading.text}. Messages with such an id are held without one; see "onceward parked list". Nothing was changed.`,
  )
}

/** The consumers that have a trace of the message. */
export async function subjectsOf(
  client: SqlClient,
  messageId: string,
  among: readonly KnownConsumer[],
): Promise<readonly Subject[]> {
  const ids = await findTraced(client, messageId)
  return among.filter(({ consumerId }) => ids.has(consumerId)).map(known => ({ ...known, messageId }))
}

/**
 * The messages that hold a business key or have used it, at each consumer; those that wait for it; and dead
 * ones, which released it.
 */
export async function businessSubjects(
  client: SqlClient,
  key: string,
  among: readonly KnownConsumer[],
): Promise<readonly Subject[]> {
  const rows = await findByBusinessKey(client, key)
  return rows.flatMap(row => {
    const known = among.find(({ consumerId }) => consumerId === row.id)
    return known === undefined ? [] : [{ ...known, messageId: row.message_id }]
  })
}

/** Messages held under the order key of an aggregate. */
export async function heldSubjects(
  client: SqlClient,
  key: string,
  among: readonly KnownConsumer[],
): Promise<readonly Subject[]> {
  const ids = among.map(one => one.consumerId)
  const rows = await findHeldUnder(client, key, ids)
  return rows.map(row => ({
    ...among.find(({ consumerId }) => consumerId === row.id)!,
    messageId: row.message_id,
  }))
}
