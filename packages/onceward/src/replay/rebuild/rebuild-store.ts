import type { SqlTransaction } from '../../contract/handler.ts'
import type { Store, StoreSession } from '../../contracts/store.ts'
import { OncewardError } from '../../errors.ts'
import { inTransaction } from '../../stores/postgres/in-transaction.ts'
import type { SqlPool } from '../../stores/postgres/pool.ts'
import type { Campaign } from '../campaign.ts'
import { sqlOf } from '../campaign-session.ts'

/** Where a rebuild keeps its tables until they are swapped in, and where the old ones wait afterwards. */
export const shadowSchema = (campaignId: string) => `onceward_shadow_${campaignId}`
export const oldSchema = (campaignId: string) => `onceward_old_${campaignId}`

const lookThere = `select set_config('search_path', $1 || ', ' || current_setting('search_path'), true), current_setting('onceward.run')`

/**
 * In every transaction of a rebuild the shadow tables come first on the search path; and before it commits, the server's own count of changed
 * rows must say that no live table was touched, by a name with a schema in a handler or by a function of the database.
 */
export function aroundRebuild<Tx>({ id, plan }: Campaign) {
  const live = plan!.tables!
  return {
    async before(session: StoreSession<Tx>) {
      await sqlOf(session).query(lookThere, [shadowSchema(id)])
    },
    async after(session: StoreSession<Tx>) {
      const { rows } = await sqlOf(session).query<{ table: string }>(
        `select schemaname || '.' || relname as table from pg_stat_xact_user_tables
         where schemaname || '.' || relname = any($1::text[]) and n_tup_ins + n_tup_upd + n_tup_del > 0`,
        [live],
      )
      if (rows.length === 0) return
      throw new OncewardError(
        'configuration',
        `The rebuild wrote to ${rows.map(row => row.table).join(', ')} itself. Nothing was committed. Name the table without its schema wherever the handler writes to it.`,
      )
    },
  }
}

/** Checks of a declared effect look at the shadow tables, too. */
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
  return { ...store, query }
}
