import type { SqlPool } from '../../drivers/postgres/pool.ts'
import type { DriftBook, DriftKind } from './drift.ts'
import { readOnly } from './read-only.ts'
import type { Compared } from './sink-drift.ts'
import { type IdRange, walkIds } from './walk-ids.ts'

/**
 * Checks of our own tables against each other: what a hand in them leaves behind. $1 consumer, $2 and $3 the
 * stretch, $4 all generations, $5 the horizon.
 */
interface Check {
  readonly kind: DriftKind
  /** The table that is walked, and the column by which. */
  readonly walked: readonly [table: string, column: string]
  readonly id: string
  readonly detail: string
  readonly from: string
}

const within = (column: string) => `${column} > $2 and ($3::text is null or ${column} <= $3)`
const unused = `and $4::integer[] is not null and $5::timestamptz is not distinct from $5`
const markers = ['onceward.inbox', 'message_id'] as const

const checks: readonly Check[] = [
  {
    kind: 'marker of no run',
    walked: markers,
    id: 'm.message_id',
    detail: `'run ' || m.run_id || ', ' || m.status || ' ' || m.at`,
    // A swap carries markers of another generation over, at its own time; what people set aside or close
    // keeps its run.
    from: `from onceward.inbox m left join onceward.run r on r.id = m.run_id and r.consumer_id = any($4::integer[])
      where m.consumer_id = $1 and ${within('m.message_id')} and $5::timestamptz is not distinct from $5 and (r.id is null
        or (m.status = 'applied' and r.consumer_id = m.consumer_id
          and (m.at < r.started_at or m.at > r.ended_at + interval '1 second')))`,
  },
  {
    kind: 'work without a row',
    walked: markers,
    id: 'm.message_id',
    detail: `m.status || ' since ' || m.at`,
    from: `from onceward.inbox m left join (
        select distinct h.message_id from onceward.held h where h.consumer_id = $1 and ${within('h.message_id')}) h on h.message_id = m.message_id
      where m.consumer_id = $1 and ${within('m.message_id')} and m.status in ('stored', 'waiting', 'parked') and h.message_id is null ${unused}`,
  },
  {
    kind: 'row without its marker',
    walked: markers,
    id: 'h.message_id',
    detail: `'number ' || h.id || ' ' || h.state || ', marker ' || coalesce(m.status::text, 'gone')`,
    from: `from onceward.held h left join onceward.inbox m on m.consumer_id = h.consumer_id and m.message_id = h.message_id
      where h.consumer_id = $1 and ${within('h.message_id')} and h.state in ('stored', 'waiting', 'parked')
        and (m.status is null or m.status in ('applied', 'ignored', 'duplicate', 'stale')) ${unused}`,
  },
  {
    kind: 'business key without marker',
    walked: ['onceward.business_key', 'key'],
    id: 'k.key',
    detail: `'message ' || k.message_id`,
    from: `from onceward.business_key k where k.consumer_id = $1 and ${within('k.key')} and ($5::timestamptz is null or k.at >= $5)
      and not exists (select from onceward.inbox m where m.consumer_id = any($4::integer[]) and m.message_id = k.message_id)`,
  },
]

export async function compareOwn(pool: SqlPool, compared: Compared, book: DriftBook): Promise<void> {
  for (const [table, column] of new Set(checks.map(({ walked }) => walked))) {
    for await (const stretch of walkIds(pool, compared.consumerId, table, column)) {
      for (const check of checks.filter(({ walked }) => walked[0] === table))
        await run(pool, check, compared, stretch, book)
    }
  }
}

async function run(
  pool: SqlPool,
  check: Check,
  compared: Compared,
  stretch: IdRange,
  book: DriftBook,
): Promise<void> {
  const { consumerId, generations, purgedBefore } = compared
  const { kind, id, detail, from } = check
  const values = [consumerId, stretch.after, stretch.to, generations, purgedBefore]
  const { rows } = await readOnly(pool, kind, `select count(*)::integer as count ${from}`, values)
  const count = rows[0].count as number
  if (count === 0) return
  const room = book.room(kind)
  const some = await readOnly(
    pool,
    kind,
    `select ${id} as id, ${detail} as detail ${from} order by 1 limit ${room}`,
    values,
  )
  book.add(kind, count, some.rows)
}

const effectsOf = `
  select l.id, l.message_id, l.target, l.effect_key, l.consumer_name, l.created_at, l.state
  from onceward.ledger l where l.id > $2::bigint order by l.id limit 200000`

const lost = `
  from (${effectsOf}) l where l.consumer_name = $1 and ($4::timestamptz is null or l.created_at >= $4)
    and not exists (select from onceward.inbox m where m.consumer_id = any($3::integer[]) and m.message_id = l.message_id and m.status = 'applied')`

/**
 * Effects outside the database, by their number: each was asked for in the transaction of an applied message.
 */
export async function compareLedger(
  pool: SqlPool,
  consumer: string,
  compared: Compared,
  book: DriftBook,
): Promise<void> {
  const kind = 'external effect without marker'
  for (let after: string | null = '0'; after !== null; ) {
    const values: readonly unknown[] = [consumer, after, compared.generations, compared.purgedBefore]
    const { rows } = await readOnly(pool, kind, `select count(*)::integer as count ${lost}`, values)
    const room = rows[0].count === 0 ? 0 : book.room(kind)
    const some = await readOnly(
      pool,
      kind,
      `select l.message_id as id, l.target || '/' || l.effect_key || ' ' || l.state as detail ${lost} order by l.id limit ${room}`,
      values,
    )
    book.add(kind, rows[0].count, some.rows)
    const last = await readOnly(
      pool,
      kind,
      `select max(id)::text as id from (select l.id from onceward.ledger l where l.id > $1::bigint order by l.id limit 200000) l`,
      [after],
    )
    after = last.rows[0].id
  }
}
