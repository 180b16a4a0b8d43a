import { inTransaction } from '../../stores/postgres/in-transaction.ts'
import type { SqlClient, SqlPool } from '../../stores/postgres/pool.ts'
import type { Campaign } from '../campaign.ts'
import { oldSchema, shadowSchema } from './rebuild-store.ts'

/** Empty tables like the live ones, with their defaults, constraints, indexes and rights. Once per campaign, however often it is run. */
export async function createShadow(pool: SqlPool, { id, plan }: Campaign): Promise<void> {
  await inTransaction(pool, async client => {
    await client.query(`create schema if not exists ${shadowSchema(id)}`)
    for (const table of plan!.tables!) {
      if (await isThere(client, shadowSchema(id), table)) continue
      const { rows } = await client.query(
        `select format('%I.%I', n.nspname, c.relname) as live, format('%I.%I', $2::text, c.relname) as shadow,
           pg_get_userbyid(c.relowner) as owner,
           array(select format('grant %s on %I.%I to %s', privilege_type, $2::text, c.relname,
             case when grantee = 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end)
             from aclexplode(c.relacl) where grantee <> c.relowner) as grants
         from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname || '.' || c.relname = $1`,
        [table, shadowSchema(id)],
      )
      const { live, shadow, grants } = rows[0]
      await client.query(`create table ${shadow} (like ${live} including all)`)
      for (const grant of grants) await client.query(grant)
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
export async function dropShadow(pool: SqlPool, id: string): Promise<void> {
  await pool.query(
    `drop schema if exists ${shadowSchema(id)} cascade; drop schema if exists ${oldSchema(id)} cascade`,
  )
}
