import type { Consumer } from '../../contract/define-consumer.ts'
import type { SqlTransaction } from '../../contract/handler.ts'
import { rebuiltTables } from '../../contract/rebuilt-tables.ts'
import type { SqlClient } from '../../drivers/postgres/pool.ts'
import { refused } from '../campaign/campaign.ts'
import { comparedColumns } from './compared-columns.ts'
import { assertFree } from './dependents.ts'

/**
 * The tables that a rebuild creates, with their schemas. Refuses tables that could not be swapped later,
 * before anything is read.
 */
export async function shadowedTables(
  client: SqlClient,
  consumer: Consumer<unknown, SqlTransaction>,
): Promise<readonly string[]> {
  const declared = rebuiltTables(consumer) ?? []
  const found: string[] = []
  for (const name of declared) {
    if (name.includes('.'))
      throw refused(`A rebuild finds tables by the search path; declare ${name} without its schema.`)
    const { rows } = await client.query(describe, [`"${name}"`])
    if (rows.length === 0) throw refused(`Table ${name} is not on the search path.`)
    const { table, quoted } = rows[0]
    await assertFree(client, quoted)
    await comparedColumns(client, table, consumer.replay.compare[name])
    found.push(table)
  }
  return found
}

const describe = `
  select n.nspname || '.' || c.relname as table, format('%I.%I', n.nspname, c.relname) as quoted
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.oid = to_regclass($1) and c.relkind = 'r'`
