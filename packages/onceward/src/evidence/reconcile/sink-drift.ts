import type { ReconcileSection } from '../../contract/upkeep-sections.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import type { DriftBook, DriftKind } from './drift.ts'
import { readOnly } from './read-only.ts'
import { type IdRange, walkIds } from './walk-ids.ts'

/** A query of effects, and the name of where it stands. */
export interface Sink extends ReconcileSection {
  readonly place: string
}

export interface Compared {
  readonly consumerId: number
  /** All generations of the name, this one included. */
  readonly generations: readonly number[]
  /** Markers before it may be gone; null when none are. */
  readonly purgedBefore: Date | null
}

interface Shape {
  readonly at: boolean
  readonly digest: boolean
}

/** Rows without a marker that nobody can judge: no time says whether the marker is gone for its age. */
export interface SinkResult {
  readonly markers: number
  readonly effects: number
  readonly unjudged: number
  /** Rows that name no message. */
  readonly unnamed: number
}

/** Compares markers and effects stretch by stretch, both sides in one statement. */
export async function compareSink(
  pool: SqlPool,
  sink: Sink,
  compared: Compared,
  book: DriftBook,
  onProgress: (markers: number) => void,
): Promise<SinkResult> {
  const shape = await shapeOf(pool, sink)
  const conditions = conditionsOf(sink, compared, shape)
  const total = { markers: 0, effects: 0, unjudged: 0, unnamed: await countUnnamed(pool, sink) }
  for await (const stretch of walkIds(pool, compared.consumerId, 'onceward.inbox', 'message_id')) {
    const values = valuesOf(compared, stretch)
    const joined = both(sink, shape)
    const counts = conditions.map(
      ([, condition], n) => `count(*) filter (where ${condition})::integer as drift_${n}`,
    )
    const { rows } = await readOnly(
      pool,
      sink.place,
      `${joined.with} select count(*) filter (where m.mine)::integer as markers, count(e.id)::integer as effects,
         count(*) filter (where ${unjudged(compared)})::integer as unjudged, ${counts.join(', ')} ${joined.from}`,
      values,
    )
    total.markers += rows[0].markers
    total.effects += rows[0].effects
    total.unjudged += rows[0].unjudged
    for (const [n, [kind, condition]] of conditions.entries()) {
      const count = rows[0][`drift_${n}`] as number
      const room = count === 0 ? 0 : book.room(kind)
      book.add(kind, count, room === 0 ? [] : await examples(pool, sink, joined, condition, room, values))
    }
    onProgress(total.markers)
  }
  return total
}

/** Rows that the contract's own query says are not what was written. */
export async function findEdited(
  pool: SqlPool,
  { edited }: ReconcileSection,
  book: DriftBook,
): Promise<void> {
  if (edited === undefined) return
  const from = `from (${edited}) as e where e.message_id is not null`
  const { rows } = await readOnly(pool, 'reconcile.edited', `select count(*)::integer as count ${from}`)
  const some = await readOnly(
    pool,
    'reconcile.edited',
    `select e.message_id::text as id ${from} order by 1 limit ${book.room('row edited')}`,
  )
  book.add(
    'row edited',
    rows[0].count,
    some.rows.map(({ id }) => ({ id, detail: '' })),
  )
}

async function shapeOf(pool: SqlPool, { place, effects }: Sink): Promise<Shape> {
  const result = await readOnly(pool, place, `select e.message_id, e.* from (${effects}) as e limit 0`)
  const { fields } = result as unknown as { fields: readonly { name: string }[] }
  const has = (name: string) => fields.some(field => field.name === name)
  return { at: has('at'), digest: has('digest') }
}

type Condition = readonly [DriftKind, string]

function conditionsOf(sink: Sink, compared: Compared, shape: Shape): readonly Condition[] {
  const conditions: Condition[] = [
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

async function countUnnamed(pool: SqlPool, { place, effects }: Sink): Promise<number> {
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

/** A marker of this generation stands before those of others. */
function both({ effects }: Sink, { at, digest }: Shape): Joined {
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

async function examples(
  pool: SqlPool,
  { place }: Sink,
  joined: Joined,
  condition: string,
  count: number,
  values: readonly unknown[],
): Promise<{ id: string; detail: string }[]> {
  const { rows } = await readOnly(
    pool,
    place,
    `${joined.with} select coalesce(m.id, e.id) as id, concat_ws(', ', 'marker ' || m.status || ' ' || m.at, e.rows || ' rows in the sink') as detail
     ${joined.from} where ${condition} order by 1 limit ${count}`,
    values,
  )
  return rows
}
