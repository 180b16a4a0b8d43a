import type { SqlPool } from '../pool.ts'
import type { RowPlace } from './take-rows.ts'

const note = `
  update onceward.outbox set failures = least(failures + 1, 32000), last_error = failed.error
  from unnest($2::smallint[], $3::bigint[], $4::text[]) as failed (bucket, id, error)
  where destination = $1 and outbox.bucket = failed.bucket and outbox.id = failed.id`

/** Increments the failure count of each row and stores the error. */
export async function noteFailures(
  pool: SqlPool,
  destination: string,
  failed: readonly { readonly row: RowPlace; readonly error: string }[],
): Promise<void> {
  await pool.query(note, [
    destination,
    failed.map(({ row }) => row.bucket),
    failed.map(({ row }) => row.id),
    failed.map(({ error }) => error),
  ])
}
