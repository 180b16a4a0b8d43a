import type { SqlTransaction } from '../../contract/handler.ts'
import { inTransaction } from '../../drivers/postgres/in-transaction.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { shadowSchema } from '../../drivers/postgres/rebuild/schemas.ts'
import { OncewardError } from '../../errors.ts'
import type { Store } from '../../ports/store.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import type { Campaign } from '../campaign/campaign.ts'
import { sqlOf } from '../campaign/sql-of.ts'

/**
 * Changed rows of live tables, by name. The server accumulates these counts over the transactions of a
 * connection until it reports them. It never reports them within a transaction.
 */
const changes = (tables: string) => `
  (select coalesce(jsonb_object_agg(schemaname || '.' || relname, n_tup_ins + n_tup_upd + n_tup_del), '{}') from pg_stat_xact_user_tables
   where schemaname || '.' || relname = any(${tables}::text[])) as changed`

const lookThere = `
  select set_config('search_path', $1 || ', ' || current_setting('search_path'), true), current_setting('onceward.run'), ${changes('$2')}`

type Changed = Readonly<Record<string, number>>

/**
 * Puts the shadow tables first on the search path of every transaction. Before the commit, the server's count
 * of changed rows must show that no live table was written: by a schema-qualified name in a handler, or by a
 * function of the database.
 */
export function aroundRebuild<Tx>({ id, plan }: Campaign) {
  const live = plan!.tables!
  const begun = new WeakMap<StoreSession<Tx>, Changed>()
  return {
    async before(session: StoreSession<Tx>) {
      const { rows } = await sqlOf(session).query<{ changed: Changed }>(lookThere, [shadowSchema(id), live])
      begun.set(session, rows[0]!.changed)
    },
    async after(session: StoreSession<Tx>) {
      const { rows } = await sqlOf(session).query<{ changed: Changed }>(`select ${changes('$1')}`, [live])
      const before = begun.get(session)!
      const touched = Object.entries(rows[0]!.changed).filter(
        ([table, count]) => count > (before[table] ?? 0),
      )
      if (touched.length === 0) return
      throw new OncewardError(
        'configuration',
        `The rebuild wrote to the live table ${touched.map(([table]) => table).join(', ')}. Nothing was committed. Name the table without its schema everywhere the handler writes to it.`,
      )
    },
  }
}

/** Checks of a declared effect also use the shadow tables. */
export function rebuildStore<Tx>(store: Store<Tx>, pool: SqlPool, { id }: Campaign): Store<Tx> {
  const query: SqlTransaction['query'] = async (text, values) =>
    inTransaction(pool, async client => {
      await client.query(
        `select set_config('search_path', $1 || ', ' || current_setting('search_path'), true)`,
        [shadowSchema(id)],
      )
      const { rows, rowCount } = await client.query(text, values)
      return { rows, rowCount: rowCount ?? 0 }
    })
  return { ...store, sql: { ...store.sql, query } }
}
