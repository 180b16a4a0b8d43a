import type { SqlPool } from '../pool.ts'
import type { Compared, DriftRow } from './own-drift.ts'
import { readOnly } from './read-only.ts'
import type { IdRange } from './walk-ids.ts'

/** A query of effects, and its name for error texts. */
export interface Sink {
  readonly place: string
  readonly effects: string
  readonly covers?: 'all' | 'some'
  readonly perMessage?: 'one' | 'any'
}

export interface SinkShape {
  readonly at: boolean
  readonly digest: boolean
}

export async function shapeOf(pool: SqlPool, { place, effects }: Sink): Promise<SinkShape> {
  const result = await readOnly(pool, place, `select e.message_id, e.* from (${effects}) as e limit 0`)
  const { fields } = result as unknown as { fields: readonly { name: string }[] }
  const has = (name: string) => fields.some(field => field.name === name)
  return { at: has('at'), digest: has('digest') }
}

export type SinkDriftKind =
  | 'effect of a message that is not applied'
  | 'marker without effect'
  | 'effect without marker'
  | 'effect more than once'
  | 'digest differs'

export type SinkCondition = readonly [SinkDriftKind, string]

export function conditionsOf(sink: Sink, compared: Compared, shape: SinkShape): readonly SinkCondition[] {
  const conditions: SinkCondition[] = [
    [
      'effect of a message that is not applied',
      `m.id is not null and e.id is not null and m.status <> 'applied'`,
    ],
  ]
  if (sink.covers !== 'some')
    conditions.push(['marker without effect', `m.mine and e.id is null and m.status = 'applied'`])
  if (compared.purgedBefore === null) conditions.push(['effect without marker', 'm.id is null'])
  else if (shape.at) conditions.push(['effect without marker', 'm.id is null and e.at >= $5::timestamptz'])
  if (sink.perMessage === 'one') conditions.push(['effect more than once', 'e.rows > 1'])
  if (shape.digest) conditions.push(['digest differs', 'm.id is not null and m.digest <> any (e.digests)'])
  return conditions
}

const unjudged = ({ purgedBefore }: Compared) =>
  purgedBefore === null ? 'false' : 'm.id is null and e.at is null'

export async function countUnnamed(pool: SqlPool, { place, effects }: Sink): Promise<number> {
  const { rows } = await readOnly(
    pool,
    place,
    `select count(*)::integer as count from (${effects}) as e where e.message_id is null or e.message_id::text = ''`,
  )
  return rows[0].count
}

function valuesOf(
  { consumerId, generations, purgedBefore }: Compared,
  { after, to }: IdRange,
): readonly unknown[] {
  return [generations, after, to, consumerId, purgedBefore]
}

interface Joined {
  readonly with: string
  readonly from: string
}

/** A marker of this generation precedes those of others. */
function both({ effects }: Sink, { at, digest }: SinkShape): Joined {
  const id = 'e.message_id::text collate "C"'
  return {
    with: `with m as materialized (
        select distinct on (i.message_id) i.message_id as id, i.status::text, i.at, i.digest, i.consumer_id = $4 as mine
        from onceward.inbox i where i.consumer_id = any($1::integer[]) and i.message_id > $2 and ($3::text is null or i.message_id <= $3)
        order by i.message_id, (i.consumer_id = $4) desc),
      e as materialized (
        select ${id} as id, count(*) as rows, ${at ? 'max(e.at)' : 'null'}::timestamptz as at,
          ${digest ? 'array_agg(distinct e.digest)' : 'null'}::bytea[] as digests
        from (${effects}) as e where ${id} > $2 and ($3::text is null or ${id} <= $3) and $5::timestamptz is not distinct from $5 group by 1)`,
    from: 'from m full join e on e.id = m.id',
  }
}

/** Counts of one range; `drift` in the order of the conditions. */
export interface SinkCounts {
  readonly markers: number
  readonly effects: number
  readonly unjudged: number
  readonly drift: readonly number[]
}

export interface SinkStretch {
  readonly sink: Sink
  readonly shape: SinkShape
  readonly compared: Compared
  readonly stretch: IdRange
}

export async function countSinkDrift(
  pool: SqlPool,
  { sink, shape, compared, stretch }: SinkStretch,
  conditions: readonly SinkCondition[],
): Promise<SinkCounts> {
  const joined = both(sink, shape)
  const counts = conditions.map(
    ([, condition], n) => `count(*) filter (where ${condition})::integer as drift_${n}`,
  )
  const { rows } = await readOnly(
    pool,
    sink.place,
    `${joined.with} select count(*) filter (where m.mine)::integer as markers, count(e.id)::integer as effects,
       count(*) filter (where ${unjudged(compared)})::integer as unjudged, ${counts.join(', ')} ${joined.from}`,
    valuesOf(compared, stretch),
  )
  const { markers, effects, unjudged: notJudged } = rows[0]
  const drift = conditions.map((_, n) => rows[0][`drift_${n}`] as number)
  return { markers, effects, unjudged: notJudged, drift }
}

export async function readSinkDrift(
  pool: SqlPool,
  { sink, shape, compared, stretch }: SinkStretch,
  condition: string,
  countMax: number,
): Promise<readonly DriftRow[]> {
  const joined = both(sink, shape)
  const { rows } = await readOnly(
    pool,
    sink.place,
    `${joined.with} select coalesce(m.id, e.id) as id, concat_ws(', ', 'marker ' || m.status || ' ' || m.at, e.rows || ' rows in the sink') as detail
     ${joined.from} where ${condition} order by 1 limit ${countMax}`,
    valuesOf(compared, stretch),
  )
  return rows
}
