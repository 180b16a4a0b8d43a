import { hash } from 'node:crypto'
import type pg from 'pg'
import type { Increment } from '../workload.ts'

/** Rows are updated in order of key, so that two batches cannot wait for each other in a circle. */
export const incrementCounters = `
  update counter set total = counter.total + change.amount
  from (select * from unnest($1::int[], $2::int[]) as change (key, amount) order by key) as change
  where counter.key = change.key`

const insertMarkers = `
  insert into bench_inbox (consumer, id, digest)
  select 1, claim.id, claim.digest from unnest($1::text[], $2::bytea[]) as claim (id, digest)
  on conflict do nothing
  returning id`

export interface Parsed {
  readonly message: Increment
  readonly digest: Buffer
}

export function parse(body: Buffer): Parsed {
  return { message: JSON.parse(body.toString()) as Increment, digest: hash('sha256', body, 'buffer') }
}

/** The keys of a batch and what to add to each, sorted: the values of `incrementCounters`. */
export function changesOf(messages: Iterable<Increment>): [number[], number[]] {
  const amounts = new Map<number, number>()
  for (const { key, amount } of messages) amounts.set(key, (amounts.get(key) ?? 0) + amount)
  const keys = [...amounts.keys()].sort((a, b) => a - b)
  return [keys, keys.map(key => amounts.get(key)!)]
}

/** What a good hand-written consumer does with a batch: markers, effects of the new ones, one commit. */
export async function applyBatch(client: pg.ClientBase, bodies: readonly Buffer[]): Promise<void> {
  const batch = bodies.map(parse).sort((a, b) => (a.message.id < b.message.id ? -1 : 1))
  await client.query('begin')
  try {
    await writeBatch(client, batch)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}

export async function writeBatch(client: pg.ClientBase, batch: readonly Parsed[]): Promise<void> {
  const fresh = await insertFresh(client, batch)
  if (fresh.length > 0) await client.query(incrementCounters, changesOf(fresh))
}

/** Inserts the markers; answers with the messages that had none. */
export async function insertFresh(
  client: pg.ClientBase,
  batch: readonly Parsed[],
): Promise<readonly Increment[]> {
  const ids = batch.map(({ message }) => message.id)
  const { rows } = await client.query(insertMarkers, [ids, batch.map(({ digest }) => digest)])
  const messages = batch.map(({ message }) => message)
  const inserted = new Set(rows.map(row => row.id as string))
  return rows.length === batch.length ? messages : messages.filter(({ id }) => inserted.has(id))
}
