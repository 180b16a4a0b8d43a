import type { SqlClient } from '../../drivers/postgres/pool.ts'
import { quote } from '../../drivers/postgres/rebuild/schemas.ts'
import { assertAlike, carryProperties, type Pair } from './carry-properties.ts'
import { assertFree } from './dependents.ts'
import { nameLikeLive } from './name-like-live.ts'

/** A table by its quoted names: where it is live, where the other one waits, and where the live one moves. */
interface Exchange extends Pair {
  readonly liveSchema: string
  readonly name: string
}

/** `tables`: as in a plan, `schema.table`. */
export async function pairsOf(
  client: SqlClient,
  tables: readonly string[],
  schema: string,
): Promise<readonly Exchange[]> {
  const { rows } = await client.query(
    `select format('%I.%I', s, n) as live, format('%I.%I', $2::text, n) as other, $2::text as schema, s as "liveSchema", n as name
     from unnest($1::text[]) with ordinality as t (t, place), split_part(t, '.', 1) as s, substr(t, length(s) + 2) as n order by place`,
    [tables, schema],
  )
  return rows
}

/**
 * Called under the lock of the live tables, so it sees every change since the preview. Copies properties
 * where a statement exists, and refuses the rest by name, before the swap changes anything.
 */
export async function assertExchangeable(
  client: SqlClient,
  tables: readonly string[],
  from: string,
): Promise<void> {
  for (const pair of await pairsOf(client, tables, from)) {
    await client.query(`lock table ${pair.other} in access exclusive mode`)
    await assertFree(client, pair.live)
    await assertFree(client, pair.other)
    await nameLikeLive(client, pair)
    await assertAlike(client, pair, isStructure)
    await carryProperties(client, pair)
    await assertAlike(client, pair)
  }
}

/** No statement copies these, and other properties refer to them. */
const isStructure = (what: string) => /^(column|constraint|index) /.test(what)

/**
 * Moves the live tables to `aside`, and those in `from` to the live schema. Indexes and constraints move with
 * their tables.
 */
export async function exchangeTables(
  client: SqlClient,
  tables: readonly string[],
  from: string,
  aside: string,
): Promise<void> {
  await client.query(`create schema if not exists ${aside}`)
  for (const exchange of await pairsOf(client, tables, from)) {
    await continueNumbers(client, exchange)
    await moveTable(client, exchange, aside)
  }
  // A grant does not lock the table, and an event trigger may change an altered table.
  for (const { live, liveSchema, name } of await pairsOf(client, tables, aside)) {
    const [old] = await pairsOf(client, [`${aside}.${name}`], liveSchema)
    await assertAlike(client, old!)
    await assertFree(client, live)
    await assertFree(client, old!.live)
  }
}

/**
 * Sequences that a column owns. Both tables use the same one. It must stay with the live table, and would
 * move with the old one otherwise.
 */
const sequences = `
  select format('%I.%I', n.nspname, s.relname) as sequence, quote_ident(a.attname) as column
  from pg_depend d join pg_class s on s.oid = d.objid and s.relkind = 'S' join pg_namespace n on n.oid = s.relnamespace
  join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
  where d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass and d.deptype = 'a' and d.refobjid = $1::regclass`

/** Statistics objects have their own schema and do not move with the table. */
const statistics = `
  select format('%I.%I', n.nspname, x.stxname) as object, format('%I', n.nspname) as schema, format('%I', x.stxname) as name
  from pg_statistic_ext x join pg_namespace n on n.oid = x.stxnamespace where x.stxrelid = $1::regclass`

async function moveTable(client: SqlClient, { live, other, schema, liveSchema }: Exchange, aside: string) {
  const owned = (await client.query(sequences, [live])).rows
  const objects = (await client.query(statistics, [live])).rows
  for (const { sequence } of owned) await client.query(`alter sequence ${sequence} owned by none`)
  for (const { object } of objects) await client.query(`alter statistics ${object} set schema ${aside}`)
  await client.query(`alter table ${live} set schema ${aside}`)
  await client.query(`alter table ${other} set schema ${quote(liveSchema)}`)
  for (const object of objects)
    await client.query(`alter statistics ${schema}.${object.name} set schema ${object.schema}`)
  for (const { sequence, column } of owned)
    await client.query(`alter sequence ${sequence} owned by ${live}.${column}`)
}

/** Each identity column has its own sequence. The new live one must not repeat numbers of the old one. */
async function continueNumbers(client: SqlClient, { live, other }: Exchange): Promise<void> {
  const { rows } = await client.query(
    `select pg_get_serial_sequence($1::text, a.attname) as live, pg_get_serial_sequence($2::text, a.attname) as other,
       case when q.seqincrement > 0 then 'greatest' else 'least' end as further
     from pg_attribute a join pg_sequence q on q.seqrelid = pg_get_serial_sequence($1::text, a.attname)::regclass
     where a.attrelid = $1::regclass and a.attidentity <> '' and not a.attisdropped`,
    [live, other],
  )
  for (const one of rows)
    await client.query(
      `select setval($1::regclass, ${one.further}(l.last_value, o.last_value), l.is_called or o.is_called) from ${one.live} l, ${one.other} o`,
      [one.other],
    )
}
