import type { SqlPool } from '../pool.ts'
import type { ParkedState } from './read-parked.ts'

/** Messages of one consumer and state that failed alike. */
export interface ParkedGroup {
  readonly consumer: string
  readonly generation: number
  readonly state: ParkedState
  readonly cause: string
  readonly failureClass: string
  readonly code: string
  readonly place: string
  readonly count: number
  /** Id of the oldest message. */
  readonly example: string | null
  readonly oldestAt: Date | null
  readonly newestAt: Date | null
}

const ofCause = `
  h.consumer_id = g.consumer_id and h.state in ('parked', 'dead', 'quarantined') and h.state = g.state
  and onceward.cause_of(h.failure_class, h.code, onceward.place_of(h.place, h.origin, h.message_type)) = g.cause`

const groups = `
  with g as (
    select p.consumer_id, c.name, c.generation, p.state, p.failure_class, p.code, p.place,
      onceward.cause_of(p.failure_class, p.code, p.place) as cause, sum(p.delta)::integer as count
    from onceward.parked_count p join onceward.consumer c on c.id = p.consumer_id
    where $1::text is null or c.name = $1
    group by 1, 2, 3, 4, 5, 6, 7 having sum(p.delta) > 0)
  select g.name as consumer, g.generation, g.state::text, g.cause, g.failure_class as "failureClass", g.code, g.place, g.count,
    oldest.id::text as example, oldest.first_at as "oldestAt", newest.first_at as "newestAt"
  from g
  left join lateral (select h.id, h.first_at from onceward.held h where ${ofCause} order by h.id limit 1) oldest on true
  left join lateral (select h.first_at from onceward.held h where ${ofCause} order by h.id desc limit 1) newest on true
  order by g.count desc, g.cause limit $2`

const foldMax = 200_000

/** Sums the counts that every change keeps; folds them first once there are 500 rows. */
export async function readGroups(
  pool: SqlPool,
  consumer: string | null,
  countMax: number,
): Promise<readonly ParkedGroup[]> {
  await pool.query(
    'select onceward.fold_parked_counts($1) where (select count(*) from (select from onceward.parked_count limit 500) few) = 500',
    [foldMax],
  )
  return (await pool.query(groups, [consumer, countMax])).rows
}
