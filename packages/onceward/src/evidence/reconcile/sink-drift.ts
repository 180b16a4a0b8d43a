import type { ReconcileSection } from '../../contract/upkeep-sections.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import {
  conditionsOf,
  countSinkDrift,
  countUnnamed,
  readSinkDrift,
  type Sink,
  shapeOf,
} from '../../drivers/postgres/reconcile/compare-sink.ts'
import type { Compared } from '../../drivers/postgres/reconcile/own-drift.ts'
import { readOnly } from '../../drivers/postgres/reconcile/read-only.ts'
import { walkMarkers } from '../../drivers/postgres/reconcile/walk-ids.ts'
import type { DriftBook } from './drift.ts'

/** `unjudged`: rows without a marker and without a time, which might have lost their marker to retention. */
export interface SinkResult {
  readonly markers: number
  readonly effects: number
  readonly unjudged: number
  /** Rows that name no message. */
  readonly unnamed: number
}

/** Compares markers and effects range by range, both sides in one statement. */
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
  for await (const stretch of walkMarkers(pool, compared.consumerId)) {
    const part = { sink, shape, compared, stretch }
    const counts = await countSinkDrift(pool, part, conditions)
    total.markers += counts.markers
    total.effects += counts.effects
    total.unjudged += counts.unjudged
    for (const [n, [kind, condition]] of conditions.entries()) {
      const count = counts.drift[n]!
      const room = count === 0 ? 0 : book.room(kind)
      book.add(kind, count, room === 0 ? [] : await readSinkDrift(pool, part, condition, room))
    }
    onProgress(total.markers)
  }
  return total
}

/** Rows that the contract's `edited` query returns. */
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
