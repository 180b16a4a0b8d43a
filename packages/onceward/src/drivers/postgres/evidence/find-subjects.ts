import type { SqlClient } from '../pool.ts'

export interface KnownConsumer {
  readonly consumerId: number
  readonly consumer: string
  readonly generation: number
  readonly dedup: string
}

const consumers = `
  select id as "consumerId", name as consumer, generation, dedup from onceward.consumer order by name, generation`

export async function listConsumers(client: SqlClient): Promise<readonly KnownConsumer[]> {
  return (await client.query(consumers)).rows
}

/**
 * Each lookup is one index probe: LIMIT keeps the planner from scanning a table for all consumers at once.
 */
const there = (table: string) =>
  `left join lateral (select true as there from onceward.${table} t where t.consumer_id = c.id and t.message_id = $1 limit 1) ${table} on true`

const tables = ['inbox', 'attempt', 'note', 'fix', 'closed_held']

const traced = `
  select c.id, coalesce(${tables.map(table => `${table}.there`).join(', ')}, held.there, w.there, r.there, false) as traced
  from onceward.consumer c
  ${tables.map(there).join('\n  ')}
  left join lateral (select true as there from onceward.held t where t.consumer_id = c.id and t.message_id = $1
    and t.state in ('parked', 'dead', 'quarantined') limit 1) held on true
  left join lateral (select true as there from onceward.suppressed_effect t join onceward.campaign k on k.id = t.campaign_id
    where t.message_id = $1 and k.consumer_name = c.name and k.generation = c.generation limit 1) w on true
  left join lateral (select true as there from (
      select distinct consumer_id from onceward.receipt
      where id_hashes @> array[hashtextextended($1, 0)] and id_hashes is not null) t where t.consumer_id = c.id) r on true`

/** Ids of the consumers that have a trace of the message. */
export async function findTraced(client: SqlClient, messageId: string): Promise<ReadonlySet<number>> {
  const { rows } = await client.query(traced, [messageId])
  return new Set(rows.filter(row => row.traced).map(row => row.id as number))
}

export interface SubjectRow {
  readonly id: number
  readonly message_id: string
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

export async function findByBusinessKey(client: SqlClient, key: string): Promise<readonly SubjectRow[]> {
  return (await client.query(byBusinessKey, [key])).rows
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

export async function findHeldUnder(
  client: SqlClient,
  orderKey: string,
  consumerIds: readonly number[],
): Promise<readonly SubjectRow[]> {
  return (await client.query(waitingUnder, [consumerIds, orderKey])).rows
}
