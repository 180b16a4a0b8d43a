import type { Consumer } from '../../contract/define-consumer.ts'
import type { SqlTransaction } from '../../contract/handler.ts'
import type { SqlClient } from '../../stores/postgres/pool.ts'
import { refused } from '../campaign.ts'
import { comparedColumns } from './compared-columns.ts'

/** The tables a rebuild makes anew, with their schemas. Refuses what could not be swapped in later, before anything is read. */
export async function shadowedTables(
  client: SqlClient,
  { effect, replay }: Consumer<unknown, SqlTransaction>,
): Promise<readonly string[]> {
  const declared = replay.tables.length > 0 ? replay.tables : (effect?.apply?.tables ?? [])
  const found: string[] = []
  for (const name of declared) {
    if (name.includes('.'))
      throw refused(`A rebuild finds tables by the search path, and ${name} is declared with its schema.`)
    const { rows } = await client.query(describe, [`"${name}"`])
    if (rows.length === 0) throw refused(`There is no table ${name} on the search path.`)
    const { table, views, keys, triggers, policies, publications } = rows[0]
    const hindrances = [
      ...views.map((one: string) => `view ${one} reads it`),
      ...keys.map((one: string) => `foreign key ${one} refers to it`),
      ...triggers.map((one: string) => `trigger ${one} fires on it`),
      ...policies.map((one: string) => `policy ${one} guards it`),
      ...publications.map((one: string) => `publication ${one} publishes it`),
    ]
    if (hindrances.length > 0)
      throw refused(
        `Table ${table} cannot be swapped as it is: ${hindrances.join(', ')}, and would stay with the old one.`,
      )
    await comparedColumns(client, table, replay.compare[name])
    found.push(table)
  }
  return found
}

const describe = `
  select n.nspname || '.' || c.relname as table,
    array(select distinct v.relname::text from pg_depend d join pg_rewrite r on r.oid = d.objid join pg_class v on v.oid = r.ev_class
      where d.classid = 'pg_rewrite'::regclass and d.refobjid = c.oid and v.oid <> c.oid) as views,
    array(select conname::text from pg_constraint k where k.contype = 'f' and k.confrelid = c.oid) as keys,
    array(select tgname::text from pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal) as triggers,
    array(select polname::text from pg_policy p where p.polrelid = c.oid) as policies,
    array(select p.pubname::text from pg_publication_rel r join pg_publication p on p.oid = r.prpubid where r.prrelid = c.oid) as publications
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.oid = to_regclass($1) and c.relkind = 'r'`
