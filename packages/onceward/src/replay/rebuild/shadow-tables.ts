import { inTransaction } from '../../stores/postgres/in-transaction.ts'
import type { SqlClient, SqlPool } from '../../stores/postgres/pool.ts'
import type { Campaign } from '../campaign.ts'
import { oldSchema, shadowSchema } from './rebuild-store.ts'

/** Empty tables like the live ones, with their defaults, constraints, indexes, owner and rights. Once per campaign, however often it is run. */
export async function createShadow(pool: SqlPool, { id, plan }: Campaign): Promise<void> {
  await inTransaction(pool, async client => {
    await client.query(`create schema if not exists ${shadowSchema(id)}`)
    for (const table of plan!.tables!) {
      if (await isThere(client, shadowSchema(id), table)) continue
      const { rows } = await client.query(
        `select format('%I.%I', n.nspname, c.relname) as live, format('%I.%I', $2::text, c.relname) as shadow,
           array(
             select format('alter table %I.%I add constraint %I %s', $2::text, c.relname, k.conname, pg_get_constraintdef(k.oid))
             from pg_constraint k where k.conrelid = c.oid and k.contype = 'f'
             union all
             select format('grant %s%s on %I.%I to %s', a.privilege_type, a.of, $2::text, c.relname,
               case when a.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end)
             from (select *, '' as of from aclexplode(c.relacl)
               union all select x.*, format(' (%I)', t.attname) from pg_attribute t cross join aclexplode(t.attacl) x
               where t.attrelid = c.oid and not t.attisdropped) a
             where a.grantee <> c.relowner
             union all
             select unnest(array[format('grant usage, create on schema %I to %I', $2::text, o.rolname),
               format('alter table %I.%I owner to %I', $2::text, c.relname, o.rolname)])
             from pg_roles o where o.oid = c.relowner and o.rolname <> current_user) as also
         from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname || '.' || c.relname = $1`,
        [table, shadowSchema(id)],
      )
      const { live, shadow, also } = rows[0]
      await client.query(`create table ${shadow} (like ${live} including all)`)
      for (const statement of also) await client.query(statement)
    }
  })
}

/** Asked without touching the live table, which a swap may have locked. */
async function isThere(client: SqlClient, schema: string, table: string): Promise<boolean> {
  const { rows } = await client.query(
    `select from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relname = split_part($2, '.', 2)`,
    [schema, table],
  )
  return rows.length > 0
}

/** What is not live any more goes: the shadow of a cancelled rebuild, the old tables of a finished one. */
export async function dropShadow(client: SqlClient, id: string): Promise<void> {
  await client.query(
    `drop schema if exists ${shadowSchema(id)} cascade; drop schema if exists ${oldSchema(id)} cascade`,
  )
}
