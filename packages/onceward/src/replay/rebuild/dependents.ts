import type { SqlClient } from '../../drivers/postgres/pool.ts'
import { refused } from '../campaign/campaign.ts'

/**
 * Objects that depend on a table according to `pg_depend` and related catalogues, except the table's own
 * parts (row type, indexes, constraints, defaults, statistics, sequences of its columns). Parts are listed by
 * kind, so an unknown kind of object counts as a dependent and is named. `$2`: the table is dropped, together
 * with a sequence that a column owns; a swap leaves that sequence to the live table.
 */
const dependents = `
  with recursive part (classid, objid, walked) as (
    select 'pg_class'::regclass::oid, $1::regclass::oid, true
    union
    select d.classid, d.objid, d.deptype <> 'a' or $2::boolean or s.oid is null
    from part p join pg_depend d on p.walked and d.refclassid = p.classid and d.refobjid = p.objid
    left join pg_class s on d.classid = 'pg_class'::regclass and s.oid = d.objid and s.relkind = 'S'
    where case d.classid
      when 'pg_class'::regclass then s.oid is not null and d.deptype in ('a', 'i')
        or exists (select from pg_class c where c.oid = d.objid and c.relkind = 't' and d.deptype = 'i')
        or exists (select from pg_index i where i.indexrelid = d.objid and i.indrelid = $1::regclass)
        or exists (select from pg_index i join pg_class c on c.reltoastrelid = i.indrelid where i.indexrelid = d.objid and c.oid = $1::regclass)
      when 'pg_type'::regclass then exists (select from pg_type y left join pg_type e on e.oid = y.typelem and e.typarray = y.oid
        where y.oid = d.objid and $1::regclass in (y.typrelid, e.typrelid))
      when 'pg_constraint'::regclass then exists (select from pg_constraint k where k.oid = d.objid and k.conrelid = $1::regclass and k.confrelid <> k.conrelid)
      when 'pg_attrdef'::regclass then exists (select from pg_attrdef f where f.oid = d.objid and f.adrelid = $1::regclass)
      when 'pg_statistic_ext'::regclass then exists (select from pg_statistic_ext x where x.oid = d.objid and x.stxrelid = $1::regclass)
      when 'pg_trigger'::regclass then exists (select from pg_trigger g join pg_constraint k on k.oid = g.tgconstraint
        where g.oid = d.objid and g.tgisinternal and k.conrelid = $1::regclass)
      else false end),
  found as (
    select distinct d.classid, d.objid, d.objsubid from part p
    join pg_depend d on p.walked and d.refclassid = p.classid and d.refobjid = p.objid
    where not exists (select from part o where o.classid = d.classid and o.objid = d.objid)
      and not (d.classid = 'pg_trigger'::regclass and exists (select from pg_trigger g where g.oid = d.objid and g.tgisinternal)))
  select case
      when r.ev_class = $1::regclass then format('rule %s rewrites it', r.rulename)
      when r.rulename = '_RETURN' then format('%s %s reads it', case v.relkind when 'm' then 'materialized view' else 'view' end, r.ev_class::regclass)
      when g.tgrelid = $1::regclass then format('trigger %s fires on it', g.tgname)
      when l.polrelid = $1::regclass then format('policy %s guards it', l.polname)
      when k.confrelid = $1::regclass then format('foreign key %s of %s refers to it', k.conname, k.conrelid::regclass)
      when b.oid is not null then format('publication %s publishes it', b.pubname)
      else pg_describe_object(f.classid, f.objid, f.objsubid) || ' depends on it' end as dependent
  from found f
  left join pg_rewrite r on f.classid = 'pg_rewrite'::regclass and r.oid = f.objid left join pg_class v on v.oid = r.ev_class
  left join pg_trigger g on f.classid = 'pg_trigger'::regclass and g.oid = f.objid
  left join pg_policy l on f.classid = 'pg_policy'::regclass and l.oid = f.objid
  left join pg_constraint k on f.classid = 'pg_constraint'::regclass and k.oid = f.objid and k.contype = 'f'
  left join pg_publication_rel e on f.classid = 'pg_publication_rel'::regclass and e.oid = f.objid left join pg_publication b on b.oid = e.prpubid
  union
  select format('publication %s publishes it', b.pubname) from pg_publication b where not $2::boolean and (b.puballtables
    or exists (select from pg_publication_namespace n join pg_class c on c.relnamespace = n.pnnspid where n.pnpubid = b.oid and c.oid = $1::regclass))
  union
  select format('it inherits from %s', i.inhparent::regclass) from pg_inherits i where i.inhrelid = $1::regclass
  union
  select format('subscription %s writes it', s.subname) from pg_subscription_rel r join pg_subscription s on s.oid = r.srsubid where r.srrelid = $1::regclass
  order by 1`

/** Refuses a swap that would leave a dependent object with the old table. `quoted`: with its schema. */
export async function assertFree(client: SqlClient, quoted: string): Promise<void> {
  const found = await dependentsOf(client, quoted, false)
  if (found.length > 0)
    throw refused(
      `Table ${quoted} cannot be swapped: ${found.join(', ')}, and would stay with the old table. Drop the object, swap, and create it again.`,
    )
}

/** A dropped table takes only its own parts with it. */
export async function assertDroppable(client: SqlClient, quoted: string): Promise<void> {
  const found = await dependentsOf(client, quoted, true)
  if (found.length > 0)
    throw refused(
      `Table ${quoted} cannot be dropped: ${found.join(', ')}. Drop the object, or change it to use another table.`,
    )
}

async function dependentsOf(client: SqlClient, quoted: string, dropping: boolean): Promise<string[]> {
  const { rows } = await client.query(dependents, [quoted, dropping])
  return rows.map(row => row.dependent as string)
}
