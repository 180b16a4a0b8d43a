import type { SqlTransaction } from '../contract/handler.ts'
import type { SqlClient } from '../drivers/postgres/pool.ts'
import { OncewardError } from '../errors.ts'
import type { Store } from '../ports/store.ts'

/** The database, its server and the server's incarnation. */
const place = `
  select current_database() as name, extract(epoch from pg_postmaster_start_time())::text as server`

/**
 * Two connection strings may name two databases: the store would record effects in one, the dispatcher and
 * the relay would read the other.
 */
export async function assertSameDatabase(store: Store<SqlTransaction>, client: SqlClient): Promise<void> {
  if (store.sql === undefined) {
    throw new OncewardError(
      'configuration',
      'runConsumer needs a store on PostgreSQL. Nothing was started. Use createPostgresStore or one of the adapters for ORMs.',
    )
  }
  const [theirs, ours] = await Promise.all([store.sql.query(place), client.query(place)])
  const [at, beside] = [theirs.rows[0]!, ours.rows[0]]
  if (at.name === beside.name && at.server === beside.server) return
  throw new OncewardError(
    'configuration',
    `The store works on database "${at.name}", databaseUrl names "${beside.name}"${at.name === beside.name ? ' on another server' : ''}. External calls and dead letters would be recorded in a database that no relay reads. Nothing was started. Use the same database for both.`,
  )
}
