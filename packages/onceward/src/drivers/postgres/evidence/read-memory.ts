import type { SqlClient } from '../pool.ts'

export interface ConsumerMemory {
  readonly enrolledAt: Date
  readonly purgedBefore: Date | null
  readonly purgedCount: number | null
  readonly lastPurgeAt: Date | null
  readonly action: string | null
  readonly keepDays: number | null
  readonly losses: number
  readonly unidentified: boolean
  /**
   * The database has changed its incarnation since the consumer was registered. `survivedTo`: the last commit
   * that it certainly has.
   */
  readonly copied: boolean
  readonly survivedTo: Date | null
}

const memory = `
  select c.registered_at as "enrolledAt", h.purged_before as "purgedBefore", h.purged_count::float8 as "purgedCount",
    h.at as "lastPurgeAt", r.action, (extract(epoch from r.keep) / 86400)::float8 as "keepDays",
    (select count(*)::integer from onceward.loss g where g.consumer_id = c.id and g.withdrawn_reason is null) as losses,
    exists (select from onceward.held w where w.consumer_id = c.id and w.message_id is null and w.state in ('parked', 'dead', 'quarantined'))
      as unidentified,
    copy.detected_at is not null as copied, copy.complete_until as "survivedTo"
  from onceward.consumer c
  left join onceward.horizon h on h.consumer_id = c.id
  left join onceward.retention r on r.consumer_id = c.id and r.kind = 'markers'
  left join lateral (
    select l.detected_at, l.complete_until from onceward.server_incarnation l where l.detected_at > c.registered_at and l.id > (
      select min(id) from onceward.server_incarnation) order by l.id desc limit 1) copy on true
  where c.id = $1`

export async function readMemory(client: SqlClient, consumerId: number): Promise<ConsumerMemory> {
  return (await client.query(memory, [consumerId])).rows[0]
}

const dayOf = `
  select day::text, before from onceward.purged
  where consumer_id = $1 and kind = 'markers' and before > $2::timestamptz order by day limit 1`

/** The day on which markers written at this time were removed. */
export async function readPurgeDay(client: SqlClient, consumerId: number, at: Date): Promise<string | null> {
  return (await client.query(dayOf, [consumerId, at])).rows[0]?.day ?? null
}
