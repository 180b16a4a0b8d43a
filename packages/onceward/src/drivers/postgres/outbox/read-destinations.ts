import type { SqlPool } from '../pool.ts'

/** A broker that this database publishes to. */
export interface KnownDestination {
  readonly name: string
  /**
   * Null when no process has connected to it: it is only a kind of broker, or a name in a contract.
   */
  readonly firstAt: Date | null
  readonly relays: number
  /** Counted up to 100,000. */
  readonly waiting: number
  /** Messages that the broker refuses, the first of each key, and the number behind them. */
  readonly stuck: number
  readonly behind: number
}

export async function readDestinations(pool: SqlPool): Promise<readonly KnownDestination[]> {
  const { rows } = await pool.query(`
    with stuck as (
      select destination, count(*)::int as stuck, sum(behind)::int as behind from onceward.outbox_stuck group by destination)
    select name, d.first_at as "firstAt",
      coalesce(stuck, 0) as stuck, coalesce(behind, 0) as behind,
      (select count(*)::int from onceward.relay r where r.destination = name and r.until > clock_timestamp()) as relays,
      (select count(*)::int from (select from onceward.outbox o where o.destination = name limit 100000) first) as waiting
    from (select name from onceward.destination union select destination from onceward.outbox_unserved) as known (name)
    left join onceward.destination d using (name) left join stuck on stuck.destination = name order by name`)
  return rows as KnownDestination[]
}
