import type { SqlPool } from '../pool.ts'
import { isHeard } from '../sql/clock-ahead.ts'

/**
 * Delay levels of a log that the consumer has read, by the partitions of its runs. $3 is the prefix of their
 * names. `isRead`: a process with the previous contract may still write copies.
 */
const everRead = `
  select level::float8 as "levelMs", bool_or(is_read) as "isRead" from (
    select substring(substring(k.partition from length($3::text) + 1) from '^([0-9]+)/[0-9]+$')::numeric as level,
      coalesce(r.ended_at is null and ${isHeard('r.heartbeat_at', '30 seconds')}, false) as is_read
    from onceward.checkpoint k join onceward.consumer c on c.id = k.consumer_id left join onceward.run r on r.id = k.run_id
    where c.name = $1 and c.generation = $2 and starts_with(k.partition, $3::text)) known
  where level is not null group by level order by level`

const inOutbox = `
  select substring(queue from length($2::text) + 1)::float8 as "levelMs", count(*)::integer as copies from onceward.outbox
  where broker = $1 and starts_with(queue, $2::text) and substring(queue from length($2::text) + 1) ~ '^[0-9]{1,15}$' group by queue`

export interface ReadLevel {
  readonly levelMs: number
  /** A live run has its partition. */
  readonly isRead: boolean
}

export async function readLevelsEverRead(
  pool: SqlPool,
  consumer: { readonly name: string; readonly generation: number },
  prefix: string,
): Promise<readonly ReadLevel[]> {
  return (await pool.query(everRead, [consumer.name, consumer.generation, prefix])).rows
}

/** Copies in the outbox by delay level. */
export async function readUnsentCopies(
  pool: SqlPool,
  broker: string,
  prefix: string,
): Promise<readonly { readonly levelMs: number; readonly copies: number }[]> {
  return (await pool.query(inOutbox, [broker, prefix])).rows
}
