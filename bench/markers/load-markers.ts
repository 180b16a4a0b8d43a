import type pg from 'pg'
import type { IdOrder } from '../workload.ts'

const consumer = `(select id from onceward.consumer where name = 'increments_by_batch')`

/** Ids as the round's own: rising before them, or drawn from everywhere. */
const idOf: Record<IdOrder, string> = {
  ordered: `'00000000-0000-7000-8000-' || lpad(n::text, 12, '0')`,
  random: 'gen_random_uuid()::text',
}

const step = 1_000_000

/**
 * Without the index, which is built at the end: a random id each would take hours otherwise. Its pages are then
 * 90 % full; an index that grew by random ids is emptier and larger.
 */
export async function loadMarkers(pool: pg.Pool, ids: IdOrder, markers: number): Promise<void> {
  await pool.query('truncate onceward.inbox')
  await pool.query('alter table onceward.inbox drop constraint inbox_pkey')
  for (let from = 0; from < markers; from += step) {
    await pool.query(`insert into onceward.inbox (consumer_id, run_id, status, message_id, digest)
      select ${consumer}, 1, 'applied', ${idOf[ids]}, sha256(n::text::bytea)
      from generate_series(${from + 1}, ${Math.min(markers, from + step)}) as n`)
  }
  const client = await pool.connect()
  await client.query("set maintenance_work_mem = '2GB'")
  await client.query('alter table onceward.inbox add primary key (consumer_id, message_id)')
  client.release()
  await pool.query('vacuum analyze onceward.inbox')
  await pool.query('checkpoint')
}
