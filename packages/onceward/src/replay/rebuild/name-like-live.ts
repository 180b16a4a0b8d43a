import type { SqlClient } from '../../drivers/postgres/pool.ts'
import type { Pair } from './carry-properties.ts'

/**
 * Pairs indexes with the same definition, independent of their names. A constraint has the name of its index.
 */
const indexes = `
  with i as (
    select c.oid, c.relname, i.indrelid, row_number() over (partition by i.indrelid, d.def order by c.relname) as nth, d.def
    from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
    left join pg_constraint k on k.conindid = i.indexrelid and k.conrelid = i.indrelid
    cross join lateral (select concat_ws(' ', k.contype, k.condeferrable, k.condeferred, replace(pg_get_indexdef(c.oid),
      format('INDEX %I ON %I.%I USING', c.relname, (select nspname from pg_namespace where oid = t.relnamespace), t.relname), 'INDEX ON USING')) as def) d
    where i.indrelid in ($1::regclass, $2::regclass))
  select format('%I', o.relname) as name, format('%I', 'onceward_' || o.oid) as between, format('%I', l.relname) as wanted, 'index' as kind
  from i l join i o on o.def = l.def and o.nth = l.nth where l.indrelid = $1::regclass and o.indrelid = $2::regclass
  union all
  select format('%I', o.relname), format('%I', 'onceward_' || o.oid), format('%I', l.relname), 'sequence'
  from pg_attribute a join pg_class l on l.oid = pg_get_serial_sequence($1::text, a.attname)::regclass
  join pg_class o on o.oid = pg_get_serial_sequence($2::text, a.attname)::regclass
  where a.attrelid = $1::regclass and a.attidentity <> '' and not a.attisdropped`

/**
 * `create table like` chooses new names, and statements refer to names: `on conflict on constraint`,
 * `nextval`.
 */
export async function nameLikeLive(client: SqlClient, { live, other, schema }: Pair): Promise<void> {
  const { rows } = await client.query(indexes, [live, other])
  const wrong = rows.filter(({ name, wanted }) => name !== wanted)
  // To a temporary name first: two may have each other's name.
  for (const { kind, name, between } of wrong)
    await client.query(`alter ${kind} ${schema}.${name} rename to ${between}`)
  for (const { kind, between, wanted } of wrong)
    await client.query(`alter ${kind} ${schema}.${between} rename to ${wanted}`)
}
