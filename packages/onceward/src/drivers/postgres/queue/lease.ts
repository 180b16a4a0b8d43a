import { inTransaction } from '../in-transaction.ts'
import type { SqlClient, SqlPool } from '../pool.ts'

/**
 * A lease is one row; messages carry its id. Only the database clock decides its state:
 *
 *   taken ──extend──▶ live ──until passes──▶ expired ──freeExpired, by any process──▶ removed, messages free
 *                      └────────── release ─────────────────────────────────────────▶ removed, messages free
 *
 * An expired lease is never extended. `lease_id` of a message is not null exactly while its lease has a row.
 * The transaction that removes the row also frees the messages, in a later statement than the one that locked
 * the row, so that it sees messages which were leased while it waited.
 */
export async function takeLease(
  pool: SqlPool,
  queueId: number,
  holder: string,
  leaseMs: number,
): Promise<string> {
  const { rows } = await pool.query(
    `insert into onceward.queue_lease (queue_id, holder, until)
     values ($1, $2, clock_timestamp() + $3 * interval '1 millisecond') returning id`,
    [queueId, holder, leaseMs],
  )
  return rows[0].id as string
}

/** False if the lease had expired: other subscriptions have its messages, or will. */
export async function extendLease(pool: SqlPool, leaseId: string, leaseMs: number): Promise<boolean> {
  const { rowCount } = await pool.query(
    `update onceward.queue_lease set until = clock_timestamp() + $2 * interval '1 millisecond'
     where id = $1 and until > clock_timestamp()`,
    [leaseId, leaseMs],
  )
  return rowCount === 1
}

/** Frees the messages of the lease and removes it. */
export async function releaseLease(pool: SqlPool, leaseId: string): Promise<void> {
  await inTransaction(pool, async client => {
    const { rows } = await client.query(
      'select id, queue_id, high_id from onceward.queue_lease where id = $1 for update',
      [leaseId],
    )
    await freeMessages(client, rows)
  })
}

/**
 * After a statement whose answer was lost: it may have committed, may never run, or may still be in transit.
 * A higher epoch makes a late one lease nothing; messages that it leased and the subscription does not hold
 * are freed. Null if the lease is gone.
 */
export async function undoUnconfirmedLease(
  pool: SqlPool,
  leaseId: string,
  held: readonly string[],
): Promise<number | null> {
  return inTransaction(pool, async client => {
    const { rows } = await client.query(
      'update onceward.queue_lease set epoch = epoch + 1 where id = $1 returning queue_id, high_id, epoch',
      [leaseId],
    )
    if (rows.length === 0) return null
    await client.query(
      `update onceward.queue_message set lease_id = null
       where queue_id = $1 and id <= $2 and lease_id = $3 and not (id = any($4::bigint[]))`,
      [rows[0].queue_id, rows[0].high_id, leaseId, held],
    )
    return rows[0].epoch as number
  })
}

/**
 * Frees the messages of expired leases. Returns the number of these leases; leases that another process is
 * removing are skipped. A lease that ends more than ten times ours (`leaseMs`) ahead was written by a clock
 * that was ahead, and counts as expired too: otherwise the lease of a crashed holder would last as long as
 * the jump. A live holder loses no more by it than by any expired lease: its row is gone, and its settlements
 * match nothing.
 */
export async function freeExpired(pool: SqlPool, queueId: number, leaseMs: number): Promise<number> {
  const expired = `from onceward.queue_lease where queue_id = $1 and (until <= clock_timestamp()
    or until > clock_timestamp() + 10 * $2::float8 * interval '1 millisecond')`
  const { rows: found } = await pool.query(`select 1 ${expired} limit 1`, [queueId, leaseMs])
  if (found.length === 0) return 0
  return inTransaction(pool, async client => {
    const { rows } = await client.query(`select id, queue_id, high_id ${expired} for update skip locked`, [
      queueId,
      leaseMs,
    ])
    await freeMessages(client, rows)
    return rows.length
  })
}

/**
 * `high_id` bounds the search: without it freeing three leases in a backlog of a million reads the million.
 */
async function freeMessages(
  client: SqlClient,
  leases: readonly { readonly id: string; readonly queue_id: number; readonly high_id: string }[],
): Promise<void> {
  for (const { id, queue_id, high_id } of leases) {
    await client.query(
      'update onceward.queue_message set lease_id = null where queue_id = $1 and id <= $2 and lease_id = $3',
      [queue_id, high_id, id],
    )
    await client.query('delete from onceward.queue_lease where id = $1', [id])
  }
}
