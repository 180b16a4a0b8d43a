import type { SqlPool } from '../pool.ts'
import { readOnly } from './read-only.ts'
import type { IdRange } from './walk-ids.ts'

export interface Compared {
  readonly consumerId: number
  /** All generations of the consumer, including this one. */
  readonly generations: readonly number[]
  /** Markers before it may be removed; null when none are. */
  readonly purgedBefore: Date | null
}

export type OwnDriftKind =
  | 'marker of no run'
  | 'work without a row'
  | 'row without its marker'
  | 'business key without marker'

export interface DriftRow {
  readonly id: string
  readonly detail: string
}

/**
 * Checks of Onceward's tables against each other, which find manual changes. $1 consumer, $2 and $3 the
 * range, $4 all generations, $5 the horizon.
 */
export interface OwnCheck {
  readonly kind: OwnDriftKind
  /** The table to walk, and its column. */
  readonly walked: readonly [table: string, column: string]
  readonly id: string
  readonly detail: string
  readonly from: string
}

const within = (column: string) => `${column} > $2 and ($3::text is null or ${column} <= $3)`
const unused = `and $4::integer[] is not null and $5::timestamptz is not distinct from $5`
const markers = ['onceward.inbox', 'message_id'] as const

export const ownChecks: readonly OwnCheck[] = [
  {
    kind: 'marker of no run',
    walked: markers,
    id: 'm.message_id',
    detail: `'run ' || m.run_id || ', ' || m.status || ' ' || m.at`,
    // A swap copies markers of another generation at its own time. Markers that operators set aside or close
    // keep their run.
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

const valuesOf = ({ consumerId, generations, purgedBefore }: Compared, { after, to }: IdRange) => [
  consumerId,
  after,
  to,
  generations,
  purgedBefore,
]

export async function countOwnDrift(
  pool: SqlPool,
  { kind, from }: OwnCheck,
  compared: Compared,
  stretch: IdRange,
): Promise<number> {
  const text = `select count(*)::integer as count ${from}`
  return (await readOnly(pool, kind, text, valuesOf(compared, stretch))).rows[0].count
}

export async function readOwnDrift(
  pool: SqlPool,
  { kind, id, detail, from }: OwnCheck,
  compared: Compared,
  stretch: IdRange,
  countMax: number,
): Promise<readonly DriftRow[]> {
  const text = `select ${id} as id, ${detail} as detail ${from} order by 1 limit ${countMax}`
  return (await readOnly(pool, kind, text, valuesOf(compared, stretch))).rows
}

const effectsOf = `
  select l.id, l.message_id, l.target, l.effect_key, l.consumer_name, l.created_at, l.state
  from onceward.ledger l where l.id > $2::bigint order by l.id limit 200000`

const lost = `
  from (${effectsOf}) l where l.consumer_name = $1 and ($4::timestamptz is null or l.created_at >= $4)
    and not exists (select from onceward.inbox m where m.consumer_id = any($3::integer[]) and m.message_id = l.message_id and m.status = 'applied')`

export interface LedgerStretch {
  readonly consumer: string
  /** The number of the effect before the first. */
  readonly after: string
}

export async function countLedgerDrift(
  pool: SqlPool,
  place: string,
  { consumer, after }: LedgerStretch,
  { generations, purgedBefore }: Compared,
): Promise<number> {
  const text = `select count(*)::integer as count ${lost}`
  return (await readOnly(pool, place, text, [consumer, after, generations, purgedBefore])).rows[0].count
}

export async function readLedgerDrift(
  pool: SqlPool,
  place: string,
  { consumer, after }: LedgerStretch,
  { generations, purgedBefore }: Compared,
  countMax: number,
): Promise<readonly DriftRow[]> {
  const text = `select l.message_id as id, l.target || '/' || l.effect_key || ' ' || l.state as detail ${lost} order by l.id limit ${countMax}`
  return (await readOnly(pool, place, text, [consumer, after, generations, purgedBefore])).rows
}

/** The number of the last effect of the range; null at the end. */
export async function endOfLedgerStretch(
  pool: SqlPool,
  place: string,
  after: string,
): Promise<string | null> {
  const { rows } = await readOnly(
    pool,
    place,
    `select max(id)::text as id from (select l.id from onceward.ledger l where l.id > $1::bigint order by l.id limit 200000) l`,
    [after],
  )
  return rows[0].id
}

export async function readPurgedBefore(pool: SqlPool, consumerIds: readonly number[]): Promise<Date | null> {
  const { rows } = await pool.query(
    'select max(purged_before) as before from onceward.horizon where consumer_id = any($1::integer[])',
    [consumerIds],
  )
  return rows[0].before
}
