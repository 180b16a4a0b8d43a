import { inTransaction } from '../in-transaction.ts'
import type { SqlPool } from '../pool.ts'

/** Rows are counted up to this limit, so that a read stays short. */
export const countedMax = 100_000
const keysLookedAt = 10
/** The most frequent causes, whose oldest message is looked up; for rarer causes none is. */
const causesLookedAt = 500
const campaignsLookedAt = 5

/**
 * What the store knows of one consumer at one time. Ages are in seconds. Held work includes all generations
 * except those of rebuilds, because no other process reports what an earlier generation left.
 */
export interface StoreReading {
  readonly held: Readonly<Record<string, number>>
  readonly heldOldest: number
  /**
   * Of this generation alone: the age of the work for its workers, and the count that is compared with its
   * caps.
   */
  readonly ownOldest: number
  readonly ownParked: number
  readonly stuck: number
  /** Messages that wait for a person, by the columns of their rows. */
  readonly setAside: readonly {
    readonly state: string
    readonly class: string
    readonly code: string
    readonly count: number
    readonly oldest: number
  }[]
  /** The highest number of messages parked behind the head of one key. */
  readonly fullestKey: number
  readonly checkpoints: readonly { readonly partition: string; readonly age: number }[]
  readonly ledger: readonly {
    readonly target: string
    readonly state: string
    readonly count: number
    readonly oldest: number
  }[]
  /** Null if nothing was ever removed. */
  readonly horizonAge: number | null
  readonly retention: readonly { readonly kind: string; readonly keep: number; readonly removed: number }[]
  readonly overdue: number
  readonly campaigns: readonly { readonly mode: string; readonly state: string; readonly count: number }[]
  /** Ids of a few running campaigns. */
  readonly running: readonly string[]
}

const age = (column: string) => `extract(epoch from clock_timestamp() - ${column})::float8`

/** Every part walks an index and stops, so the cost does not grow with finished work. */
const read = `
  with c as (select id from onceward.consumer where name = $1 and generation = $2),
  generations as (
    select o.id, o.generation = $2 as own from onceward.consumer o where o.name = $1 and not exists (
      select from onceward.campaign r where r.consumer_name = $1 and r.mode = 'rebuild' and r.generation = o.generation)),
  due as (
    select g.own, h.* from generations g cross join lateral (
      select h.state, h.first_at, h.lease_until from onceward.held h
      where h.consumer_id = g.id and h.due_at is not null order by h.due_at, h.id limit ${countedMax}) h),
  people as materialized (
    select g.own, p.consumer_id, p.state, p.failure_class, p.code, p.place, sum(p.delta) as n
    from generations g join onceward.parked_count p on p.consumer_id = g.id group by 1, 2, 3, 4, 5, 6 having sum(p.delta) > 0),
  keys as (select b.consumer_id, b.key from c join onceward.blocked_key b on b.consumer_id = c.id order by b.since limit ${keysLookedAt})
  select
    (select coalesce(jsonb_object_agg(state, n), '{}') from (
      select state::text, count(*) as n from due group by 1
      union all
      select state::text, sum(n) from people group by 1) s) as held,
    coalesce((select ${age('min(first_at)')} from due), 0) as "heldOldest",
    coalesce((select ${age('min(first_at)')} from due where own), 0) as "ownOldest",
    coalesce((select sum(n)::float8 from people where own and state = 'parked'), 0) as "ownParked",
    (select count(*)::float8 from due where lease_until < clock_timestamp()) as stuck,
    (select coalesce(jsonb_agg(jsonb_build_object(
        'state', state, 'class', failure_class, 'code', code, 'count', n, 'oldest', oldest)), '[]') from (
      select p.state, p.failure_class, p.code, sum(p.n) as n, coalesce(max(first.age), 0) as oldest
      from (select *, row_number() over (order by n desc) as rank from people) p
      left join lateral (
        select ${age('h.first_at')} as age from onceward.held h
        where p.rank <= ${causesLookedAt} and h.consumer_id = p.consumer_id and h.state in ('parked', 'dead', 'quarantined')
          and onceward.cause_of(h.failure_class, h.code, onceward.place_of(h.place, h.origin, h.message_type))
            = onceward.cause_of(p.failure_class, p.code, p.place)
        order by h.id limit 1) first on true
      group by 1, 2, 3) s) as "setAside",
    coalesce((select max(n)::float8 from keys cross join lateral (
      select count(*) as n from (select from onceward.held h
        where h.consumer_id = keys.consumer_id and h.order_key = keys.key and h.state = 'parked' limit ${countedMax}) behind) counted), 0)
      as "fullestKey",
    (select coalesce(jsonb_agg(jsonb_build_object('partition', partition, 'age', ${age('at')})), '[]') from (
      select k.partition, k.at from c join onceward.checkpoint k on k.consumer_id = c.id
      order by k.partition limit $3) p) as checkpoints,
    (select coalesce(jsonb_agg(jsonb_build_object('target', target, 'state', state, 'count', n, 'oldest', oldest)), '[]') from (
      select target, state::text, count(*) as n, ${age('min(created_at)')} as oldest from (
        select target, state, created_at from onceward.ledger
        where consumer_name = $1 and state <> 'completed' limit ${countedMax}) open group by 1, 2) l) as ledger,
    (select ${age('h.purged_before')} from c join onceward.horizon h on h.consumer_id = c.id) as "horizonAge",
    (select coalesce(jsonb_agg(jsonb_build_object('kind', kind, 'keep', extract(epoch from keep)::float8, 'removed', purged_count)), '[]')
      from c join onceward.retention r on r.consumer_id = c.id) as retention,
    coalesce((select greatest(0, max(${age('next_at')})) from c join onceward.retention r on r.consumer_id = c.id), 0) as overdue,
    (select coalesce(jsonb_agg(jsonb_build_object('mode', mode, 'state', state, 'count', n)), '[]') from (
      select mode, state, count(*) as n from onceward.campaign
      where consumer_name = $1 and state not in ('finished', 'cancelled') group by 1, 2) g) as campaigns,
    (select coalesce(jsonb_agg(id::text), '[]') from (
      select id from onceward.campaign where consumer_name = $1 and state = 'running' order by id limit ${campaignsLookedAt}) r) as running`

/** Counts are stored as changes. Folding them keeps the sum short; it changes no count. */
const fold = `
  select onceward.fold_parked_counts(200000)
  where (select count(*) from (select from onceward.parked_count limit 500) few) = 500`

/** One statement with a limit of five seconds. */
export async function readGauges(
  pool: SqlPool,
  { name, generation }: { readonly name: string; readonly generation: number },
  partitionsMax: number,
): Promise<StoreReading> {
  await pool.query(fold)
  return inTransaction(pool, async client => {
    await client.query('set local statement_timeout = 5000')
    return (await client.query(read, [name, generation, partitionsMax])).rows[0]
  })
}
