import { errorText } from '../../errors.ts'
import type { SqlPool } from '../../stores/postgres/pool.ts'
import { isPassing } from '../store-away.ts'
import type { Published } from './publish-rows.ts'
import type { OutboxRow, RowPlace } from './take-rows.ts'

const remove = `
  delete from onceward.outbox using unnest($2::smallint[], $3::bigint[]) as done (bucket, id)
  where broker = $1 and outbox.bucket = done.bucket and outbox.id = done.id`

/** Whoever has a row's confirmation may remove it, whatever became of its lease: the broker has the message. */
export async function removeRows(pool: SqlPool, broker: string, rows: readonly RowPlace[]): Promise<void> {
  await pool.query(remove, [broker, ...placesOf(rows)])
}

const note = `
  update onceward.outbox set failures = least(failures + 1, 32000), last_error = failed.error
  from unnest($2::smallint[], $3::bigint[], $4::text[]) as failed (bucket, id, error)
  where broker = $1 and outbox.bucket = failed.bucket and outbox.id = failed.id`

/** For people: how often a row has failed, and why. */
export async function noteFailures(
  pool: SqlPool,
  broker: string,
  failures: readonly { readonly row: RowPlace; readonly error: Error }[],
): Promise<void> {
  const errors = failures.map(({ error }) => errorText(error, 500))
  await pool.query(note, [broker, ...placesOf(failures.map(({ row }) => row)), errors])
}

/** Looks before it inserts: an insert that meets a conflict would use up an identity value each time. */
const createMissingQueues = `
  insert into onceward.queue (name)
  select distinct name from unnest($1::text[]) as wanted (name)
  where not exists (select from onceward.queue where queue.name = wanted.name)
  on conflict do nothing`

/** The left join makes a queue that was deleted meanwhile an error, so that no row leaves without arriving. */
const move = `
  with done as (${remove} returning outbox.*)
  insert into onceward.queue_message (queue_id, message_id, key, headers, properties, body)
  select queue.id, message_id, key, headers, properties, body
  from done left join onceward.queue on queue.name = done.queue order by done.id`

/** Into queues of the same database: out of the outbox and in there in one transaction, so exactly once. */
export async function moveRows(
  pool: SqlPool,
  broker: string,
  rows: readonly OutboxRow[],
): Promise<Published> {
  try {
    await pool.query(createMissingQueues, [rows.map(({ message }) => message.queue)])
    await pool.query(move, [broker, ...placesOf(rows)])
    return { confirmed: rows, failed: [] }
  } catch (error) {
    if (isPassing(error)) throw error
    return { confirmed: [], failed: rows.map(row => ({ row, error: error as Error })) }
  }
}

function placesOf(rows: readonly RowPlace[]): unknown[] {
  return [rows.map(({ bucket }) => bucket), rows.map(({ id }) => id)]
}
