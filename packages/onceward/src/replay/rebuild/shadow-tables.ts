import { inTransaction } from '../../drivers/postgres/in-transaction.ts'
import type { SqlClient, SqlPool } from '../../drivers/postgres/pool.ts'
import { oldSchema, shadowSchema } from '../../drivers/postgres/rebuild/schemas.ts'
import { errorText } from '../../errors.ts'
import { type Campaign, refused } from '../campaign/campaign.ts'
import { assertAlike, carryProperties } from './carry-properties.ts'
import { assertDroppable, assertFree } from './dependents.ts'
import { pairsOf } from './exchange-tables.ts'
import { nameLikeLive } from './name-like-live.ts'

/**
 * Creates empty tables that match the live ones in everything the catalogues record. Once per campaign, also
 * over several runs.
 */
export async function createShadow(pool: SqlPool, { id, plan }: Campaign): Promise<void> {
  await inTransaction(pool, async client => {
    await client.query(`create schema if not exists ${shadowSchema(id)}`)
    for (const pair of await pairsOf(client, plan!.tables!, shadowSchema(id))) {
      const { live, other, name } = pair
      if ((await thereIn(client, shadowSchema(id), [name])).length > 0) continue
      await client.query(`create table ${other} (like ${live} including all excluding statistics)`)
      await nameLikeLive(client, pair)
      const { rows } = await client.query(
        `select format('alter table %s add constraint %I %s', $2::text, k.conname, pg_get_constraintdef(k.oid)) as statement
         from pg_constraint k where k.conrelid = $1::regclass and k.contype = 'f'`,
        [live, other],
      )
      for (const { statement } of rows) await client.query(statement)
      await carryProperties(client, pair)
      await assertAlike(client, pair)
      await assertFree(client, other)
    }
  })
}

/** Does not touch the live table, which a swap may have locked. */
async function thereIn(client: SqlClient, schema: string, names: readonly string[]): Promise<string[]> {
  const { rows } = await client.query(
    `select format('%I.%I', n.nspname, c.relname) as quoted from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = $1 and c.relname = any ($2::text[]) and c.relkind = 'r' order by 1`,
    [schema, names],
  )
  return rows.map(row => row.quoted as string)
}

/**
 * Drops tables that are no longer live: the shadow of a cancelled rebuild, or the old tables of a finished
 * one. It runs in the caller's transaction and drops only these tables with their own parts. Objects that
 * others created on them or beside them cause a refusal by name.
 */
export async function dropShadow(client: SqlClient, { id, plan }: Campaign): Promise<void> {
  const names = (plan?.tables ?? []).map(table => table.slice(table.indexOf('.') + 1))
  for (const schema of [shadowSchema(id), oldSchema(id)]) {
    for (const table of await thereIn(client, schema, names)) {
      await client.query(`lock table ${table} in access exclusive mode`)
      await assertDroppable(client, table)
      await client.query(`drop table ${table} restrict`)
    }
    await dropEmpty(client, schema)
  }
}

/**
 * A cancelled campaign stays cancelled even if its tables are in use or belong to another role. Returns what
 * to do by hand, or null.
 */
export async function dropCancelled(pool: SqlPool, campaign: Campaign): Promise<string | null> {
  if (campaign.mode !== 'rebuild') return null
  try {
    await inTransaction(pool, client => dropShadow(client, campaign))
    return null
  } catch (error) {
    const { id } = campaign
    return `Campaign ${id} is cancelled, but its tables remain: ${errorText(error)} Drop schema ${shadowSchema(id)} by hand.`
  }
}

async function dropEmpty(client: SqlClient, schema: string): Promise<void> {
  const { rows } = await client.query(
    `select pg_describe_object(d.classid, d.objid, d.objsubid) as object from pg_depend d
     join pg_namespace n on d.refclassid = 'pg_namespace'::regclass and d.refobjid = n.oid where n.nspname = $1 order by 1`,
    [schema],
  )
  if (rows.length > 0)
    throw refused(
      `Schema ${schema} cannot be dropped: it contains ${rows.map(row => row.object).join(', ')}. Move or drop these objects.`,
    )
  await client.query(`drop schema if exists ${schema} restrict`)
}
