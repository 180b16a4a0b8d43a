import type { SqlClient } from '../pool.ts'
import { isHeard } from '../sql/clock-ahead.ts'

export interface ConsumerName {
  readonly name: string
  readonly generation: number
}

/** Inserts the consumer when this role may and it does not exist. */
export async function declareConsumer(
  client: SqlClient,
  {
    name,
    generation,
    owner,
    risk,
    dedup,
  }: ConsumerName & { readonly owner: string; readonly risk: string; readonly dedup: string },
): Promise<void> {
  const { rows } = await client.query(`select has_table_privilege('onceward.consumer', 'insert') as may`)
  if (!rows[0].may) return
  await client.query(
    `insert into onceward.consumer (name, generation, owner, risk, dedup) values ($1, $2, $3, $4, $5)
     on conflict (name, generation) do nothing`,
    [name, generation, owner, risk, dedup],
  )
}

/** Oldest first, at most 10,000. */
export async function readRebuildKeys(
  client: SqlClient,
  { name, generation }: ConsumerName,
): Promise<readonly string[]> {
  const { rows } = await client.query(
    `select k.key from onceward.rebuild_key k join onceward.consumer c on c.id = k.consumer_id
     where c.name = $1 and c.generation = $2 order by k.since, k.key limit 10000`,
    [name, generation],
  )
  return rows.map(row => row.key as string)
}

/** The consumer's id, and `oldestMs` as a time. Null when the consumer has never run. */
export async function readConsumerId(
  client: SqlClient,
  { name, generation }: ConsumerName,
  oldestMs: number | null,
): Promise<{ readonly id: number; readonly from: Date | null } | null> {
  const { rows } = await client.query(
    'select id, to_timestamp($3::float8 / 1000) as "from" from onceward.consumer where name = $1 and generation = $2',
    [name, generation, oldestMs],
  )
  return rows[0] ?? null
}

/** Whether a process of the live consumer has sent a heartbeat recently. */
const heard = `
  select exists (select from onceward.run r where r.consumer_id = c.id and r.ended_at is null and r.campaign_id is null
    and ${isHeard('r.heartbeat_at', '30 seconds')}) as live
  from onceward.consumer c where c.name = $1 and c.generation = $2`

export async function isConsumerHeard(
  client: SqlClient,
  { name, generation }: ConsumerName,
): Promise<boolean> {
  const { rows } = await client.query(heard, [name, generation])
  return rows[0]?.live === true
}

/** Whether the consumer has stored work that a campaign must wait for, and a running process to do it. */
const stored = `
  select exists (select from onceward.held h where h.consumer_id = c.id and h.order_key is not null and h.state = 'stored') as work,
    exists (select from onceward.run r where r.consumer_id = c.id and r.ended_at is null and r.campaign_id is null
      and ${isHeard('r.heartbeat_at', '30 seconds')}) as live
  from onceward.consumer c where c.name = $1 and c.generation = $2`

export async function readStoredWork(
  client: SqlClient,
  { name, generation }: ConsumerName,
): Promise<{ readonly work: boolean; readonly live: boolean } | null> {
  const { rows } = await client.query(stored, [name, generation])
  return rows[0] ?? null
}

const unknown = `
  select asked.id from unnest($3::text[]) as asked (id) where not exists (
    select from onceward.inbox i join onceward.consumer c on c.id = i.consumer_id
    where c.name = $1 and c.generation = $2 and i.message_id = asked.id offset 0)`

/** Of these ids, those the consumer has no marker of. */
export async function findUnmarked(
  client: SqlClient,
  { name, generation }: ConsumerName,
  ids: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await client.query(unknown, [name, generation, ids])
  return rows.map(row => row.id as string)
}

export interface LivePositionRow {
  readonly partition: string
  readonly incarnation: string
  readonly next: string
}

export async function readCheckpoints(
  client: SqlClient,
  { name, generation }: ConsumerName,
): Promise<readonly LivePositionRow[]> {
  const { rows } = await client.query(
    `select k.partition, k.incarnation, k.next from onceward.checkpoint k
     join onceward.consumer c on c.id = k.consumer_id where c.name = $1 and c.generation = $2 and k.next is not null`,
    [name, generation],
  )
  return rows
}
