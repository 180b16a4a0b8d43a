import type { SqlPool } from '../pool.ts'

/** One channel for all queues, with the name of the queue as payload. */
export const hintChannel = 'onceward_queue'

type Queryable = Pick<SqlPool, 'query'>

/** Creates the queue unless it exists. */
export async function createQueue(pool: Queryable, name: string): Promise<void> {
  await pool.query('insert into onceward.queue (name) values ($1) on conflict (name) do nothing', [name])
}

/**
 * Wakes waiting subscriptions before their next poll. Call it after your commit, never inside your
 * transaction: at commit NOTIFY takes a server-wide lock, one transaction at a time.
 */
export async function hint(pool: Queryable, queueName: string): Promise<void> {
  await pool.query('select pg_notify($1, $2)', [hintChannel, queueName])
}

/**
 * Unsettled messages, and how many of them are leased now. Counts rows: for operators and tests, not for
 * loops.
 */
export async function queueDepth(
  pool: Queryable,
  name: string,
): Promise<{ readonly messages: number; readonly leased: number }> {
  const { rows } = await pool.query(
    `select count(*)::float8 as messages, count(m.lease_id)::float8 as leased
     from onceward.queue_message m join onceward.queue q on q.id = m.queue_id where q.name = $1`,
    [name],
  )
  return rows[0]
}
