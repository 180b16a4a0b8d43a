import type { SqlClient } from '../drivers/postgres/pool.ts'
import { OncewardError } from '../errors.ts'
import { readId } from '../message/identity.ts'
import { nearestName } from '../ports/nearest-name.ts'
import type { Subject } from './explanation.ts'

export interface KnownConsumer {
  readonly consumerId: number
  readonly consumer: string
  readonly generation: number
  readonly dedup: string
}

const consumers = `
  select id as "consumerId", name as consumer, generation, dedup from onceward.consumer order by name, generation`

/** All of them, or those of one name, which must exist. */
export async function readConsumers(
  client: SqlClient,
  named: string | undefined,
): Promise<readonly KnownConsumer[]> {
  const all = (await client.query(consumers)).rows as KnownConsumer[]
  if (named === undefined) return all
  const found = all.filter(({ consumer }) => consumer === named)
  if (found.length > 0) return found
  const names = [...new Set(all.map(({ consumer }) => consumer))]
  const near = nearestName(named, names)
  const hint = near === null ? ` Known: ${names.join(', ') || 'none'}.` : ` Did you mean "${near}"?`
  throw new OncewardError(
    'usage',
    `There is no consumer "${named}" in this database.${hint} Nothing was changed.`,
  )
}

/**
 * An id as it is kept: long ones by their hash, which may also be given itself. What no marker can be called
 * is refused with the reason.
 */
export function storedId(given: string, what: string): string {
  if (/^sha256:[0-9a-f]{64}$/.test(given)) return given
  const reading = readId(given)
  if ('id' in reading) return reading.id
  throw new OncewardError(
    'usage',
    `Nothing is ever kept under this ${what}: ${reading.text}. What came with such an id is held without one; see "onceward parked list". Nothing was changed.`,
  )
}

/**
 * Each look is one probe of an index: LIMIT keeps the planner from reading a table for all consumers at once.
 */
const there = (table: string) =>
  `left join lateral (select true as there from onceward.${table} t where t.consumer_id = c.id and t.message_id = $1 limit 1) ${table} on true`

const tables = ['inbox', 'attempt', 'note', 'fix', 'closed_held']

const traced = `
  select c.id, coalesce(${tables.map(table => `${table}.there`).join(', ')}, held.there, w.there, false) as traced
  from onceward.consumer c
  ${tables.map(there).join('\n  ')}
  left join lateral (select true as there from onceward.held t where t.consumer_id = c.id and t.message_id = $1
    and t.state in ('parked', 'dead', 'quarantined') limit 1) held on true
  left join lateral (select true as there from onceward.suppressed_effect t join onceward.campaign k on k.id = t.campaign_id
    where t.message_id = $1 and k.consumer_name = c.name and k.generation = c.generation limit 1) w on true`

/** Those of the consumers that have any trace of the message. */
export async function subjectsOf(
  client: SqlClient,
  messageId: string,
  among: readonly KnownConsumer[],
): Promise<readonly Subject[]> {
  const { rows } = await client.query(traced, [messageId])
  const ids = new Set(rows.filter(row => row.traced).map(row => row.id as number))
  return among.filter(({ consumerId }) => ids.has(consumerId)).map(known => ({ ...known, messageId }))
}

const byBusinessKey = `
  select c.id, k.message_id from onceward.consumer c
  cross join lateral (select * from onceward.business_key k where k.consumer_id = c.id and k.key = $1 limit 1) k
  union
  select c.id, h.message_id from onceward.consumer c
  cross join lateral (
    select h.message_id from onceward.held h where h.consumer_id = c.id and h.business_key = $1 and h.business_key is not null
      and h.message_id is not null and h.state in ('dead', 'quarantined') limit 50) h
  union
  select c.id, w.message_id from onceward.consumer c
  cross join lateral (
    select h.message_id from onceward.held h where h.consumer_id = c.id and h.business_key = $1 and h.business_key is not null
      and h.keyless and h.message_id is not null order by h.id limit 50) w`

/**
 * Who holds a business key or used it up, at each consumer that knows it, who waits for it, and the dead, who
 * gave it back.
 */
export async function businessSubjects(
  client: SqlClient,
  key: string,
  among: readonly KnownConsumer[],
): Promise<readonly Subject[]> {
  const { rows } = await client.query(byBusinessKey, [key])
  return rows.flatMap(row => {
    const known = among.find(({ consumerId }) => consumerId === row.id)
    return known === undefined ? [] : [{ ...known, messageId: row.message_id as string }]
  })
}

const waitingUnder = `
  select h.consumer_id as id, h.message_id from onceward.held h
  where h.consumer_id = any($1::integer[]) and h.order_key = $2 and h.state in ('stored', 'parked') and h.message_id is not null
  union all
  select h.consumer_id, h.message_id from onceward.held h
  where h.consumer_id = any($1::integer[]) and h.order_key = $2 and h.state = 'waiting' and h.message_id is not null
  union all
  select h.consumer_id, h.message_id from onceward.held h
  where h.consumer_id = any($1::integer[]) and h.order_key = $2 and h.state = 'quarantined' and h.message_id is not null
  limit 50`

/** What is held under the order key of an aggregate. */
export async function heldSubjects(
  client: SqlClient,
  key: string,
  among: readonly KnownConsumer[],
): Promise<readonly Subject[]> {
  const { rows } = await client.query(waitingUnder, [among.map(one => one.consumerId), key])
  return rows.map(row => ({
    ...among.find(({ consumerId }) => consumerId === row.id)!,
    messageId: row.message_id as string,
  }))
}
