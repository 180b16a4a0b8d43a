import { inTransaction } from '../in-transaction.ts'
import type { SqlPool } from '../pool.ts'

/** First-seen times of messages without a timestamp. Ages are in milliseconds, measured by the database. */
export interface FirstSeen {
  /** Removes rows of messages that have ended. Called once, when a process begins to measure. */
  clear(): Promise<void>
  /** The recorded ages, of those that have one: since they were first seen, or since their first failure. */
  recall(ids: readonly string[]): Promise<ReadonlyMap<string, number>>
  keep(messages: readonly { readonly id: string; readonly ageMs: number }[]): Promise<void>
  /** Removes the rows of these messages, if they have ended. */
  forget(ids: readonly string[]): Promise<void>
}

const own = 'with c as (select id from onceward.consumer where name = $1 and generation = $2)'
const hasMarker = `exists (
  select from onceward.inbox i where i.consumer_id = f.consumer_id and i.message_id = f.message_id offset 0)`
/** The highest age that is accepted from a producer's timestamp, here too. */
const staleAfter = "interval '366 days'"

const recall = `${own}
  select ids.id, extract(epoch from clock_timestamp() - least(seen.at, failed.at))::float8 * 1000 as "ageMs"
  from c cross join unnest($3::text[]) as ids (id)
  left join lateral (select f.at from onceward.first_seen f
    where f.consumer_id = c.id and f.message_id = ids.id offset 0) seen on true
  left join lateral (select min(a.at) as at from onceward.attempt a
    where a.consumer_id = c.id and a.message_id = ids.id offset 0) failed on true
  where least(seen.at, failed.at) is not null`

const keep = `${own}
  insert into onceward.first_seen (consumer_id, message_id, at)
  select c.id, m.id, clock_timestamp() - make_interval(secs => m.seconds)
  from c cross join unnest($3::text[], $4::float8[]) as m (id, seconds)
  on conflict do nothing`

const clear = `${own}
  delete from onceward.first_seen f using c
  where f.consumer_id = c.id and (f.at < clock_timestamp() - ${staleAfter} or ${hasMarker})`

const forget = (ended: string) => `${own}
  delete from onceward.first_seen f using c
  where f.consumer_id = c.id and f.message_id = any ($3::text[]) and ${ended}`

/**
 * A message that this process no longer has may have ended, or the broker may deliver it again: only a marker
 * distinguishes the two. Without markers, what left this process counts as ended.
 */
export function firstSeenOf(
  pool: SqlPool,
  { name, generation, dedup }: { readonly name: string; readonly generation: number; readonly dedup: string },
): FirstSeen {
  const run = (text: string, values: readonly unknown[]) =>
    inTransaction(pool, async client => {
      await client.query('set local statement_timeout = 5000')
      return (await client.query(text, [name, generation, ...values])).rows
    })
  const forgetEnded = forget(dedup === 'marker' ? hasMarker : 'true')
  return {
    async clear() {
      await run(clear, [])
    },
    async recall(ids) {
      const rows = (await run(recall, [ids])) as readonly { readonly id: string; readonly ageMs: number }[]
      return new Map(rows.map(({ id, ageMs }) => [id, Math.max(0, ageMs)]))
    },
    async keep(messages) {
      await run(keep, [messages.map(({ id }) => id), messages.map(({ ageMs }) => ageMs / 1_000)])
    },
    async forget(ids) {
      await run(forgetEnded, [ids])
    },
  }
}
