import type { SqlClient } from '../pool.ts'

/**
 * A copy of a database has another identity than the one recorded in it, and a consumer would halt. Records
 * the copy as the database that was accepted. Only for scratch databases.
 */
export async function adoptCopy(client: SqlClient): Promise<void> {
  await client.query(`update onceward.server_incarnation
    set database_oid = (select oid from pg_database where datname = current_database())`)
}

/** Ends every lease, as if its time had passed: the work of a dead process is free at once. */
export async function expireLeases(client: SqlClient): Promise<void> {
  await client.query(`update onceward.queue_lease set until = clock_timestamp() - interval '1 second'`)
  await client.query(`update onceward.held set lease_until = clock_timestamp() - interval '1 second'
    where lease_until is not null`)
}

/** The environment that a database belongs to; null for one without the schema or without a name. */
export async function recordedEnvironment(client: SqlClient): Promise<string | null> {
  const { rows } = await client.query(`select to_regclass('onceward.environment') is not null as present`)
  if (!rows[0].present) return null
  const { rows: named } = await client.query('select name from onceward.environment')
  return named[0]?.name ?? null
}

/** Messages that are not decided yet: in the queue, or stored for a worker or the next attempt. */
export async function countUnfinished(client: SqlClient): Promise<number> {
  const { rows } = await client.query(`
    select (select count(*) from onceward.queue_message m join onceward.queue q on q.id = m.queue_id
        where q.name = '${scratchQueue}')
      + (select count(*) from onceward.held where state = 'stored') as n`)
  return Number(rows[0].n)
}

/** The byte up to which a file is read; 0 before its first line. */
export async function readFilePosition(client: SqlClient): Promise<number> {
  const { rows } = await client.query(
    'select coalesce(max(next::bigint), 0) as next from onceward.checkpoint',
  )
  return Number(rows[0].next)
}

/** The queue from which a verified consumer reads. */
export const scratchQueue = 'onceward.verify'
