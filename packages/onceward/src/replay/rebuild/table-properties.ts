/**
 * Everything the catalogues record about one table, one row each: name, value, and the statements that give
 * the table of the same name in schema $2 the same value (`make`) or remove it (`unmake`). A row without
 * statements is only compared: an operator decides about a column, constraint or index that only one of two
 * tables has. Written for PostgreSQL 15 to 18; newer columns are read through jsonb.
 */
export const tableProperties = `
  with t as (
    select c.*, n.nspname, format('%I.%I', n.nspname, c.relname) as quoted, format('%I.%I', $2::text, c.relname) as target,
      pg_get_userbyid(c.relowner) as owner
    from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = $1::regclass),
  col as (
    select a.*, t.target, t.relowner, format('column %I', a.attname) as called, row_number() over (order by a.attnum) as place,
      format('alter table %s alter column %I', t.target, a.attname) as alter
    from t join pg_attribute a on a.attrelid = t.oid where a.attnum > 0 and not a.attisdropped),
  idx as (
    select i.*, c.relname, c.relowner, c.reltablespace,
      replace(pg_get_indexdef(i.indexrelid), format(' ON %s USING ', t.quoted), ' ON USING ') as def
    from t join pg_index i on i.indrelid = t.oid join pg_class c on c.oid = i.indexrelid),
  seq as (
    select col.called, c.oid, c.relname, c.relacl, c.relowner, q.*, format('sequence %I.%I', $2::text, c.relname) as target
    from col join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = col.attrelid and d.refobjsubid = col.attnum and d.deptype = 'i'
      and d.classid = 'pg_class'::regclass join pg_class c on c.oid = d.objid and c.relkind = 'S' join pg_sequence q on q.seqrelid = c.oid),
  stat as (
    select x.*, format('%I.%I', $2::text, x.stxname) as name, to_jsonb(x) ->> 'stxstattarget' as target, t.target as of,
      array_to_string(array(select case kind when 'd' then 'ndistinct' when 'f' then 'dependencies' when 'm' then 'mcv' end
        from unnest(x.stxkind) as kind where kind <> 'e' order by 1), ', ') as kinds, pg_get_statisticsobjdef_columns(x.oid) as columns
    from t join pg_statistic_ext x on x.stxrelid = t.oid),
  con as (select k.*, t.target from t join pg_constraint k on k.conrelid = t.oid),
  commented as (
    select 'pg_class'::regclass::oid as classid, oid, 0 as sub, 'table ' || target as target from t
    union all select 'pg_class'::regclass, attrelid, attnum, format('column %s.%I', target, attname) from col
    union all select 'pg_class'::regclass, indexrelid, 0, format('index %I.%I', $2::text, relname) from idx
    union all select 'pg_class'::regclass, oid, 0, target from seq
    union all select 'pg_constraint'::regclass, oid, 0, format('constraint %I on %s', conname, target) from con
    union all select 'pg_statistic_ext'::regclass, oid, 0, 'statistics ' || name from stat
    union all select 'pg_type'::regclass, reltype, 0, 'type ' || target from t),
  acl as (
    select x.*, relowner, '' as columns, target as on from t cross join aclexplode(coalesce(relacl, acldefault('r', relowner))) x
    union all select x.*, relowner, format(' (%I)', attname), target from col cross join aclexplode(attacl) x
    union all select x.*, relowner, '', target from seq cross join aclexplode(coalesce(relacl, acldefault('s', relowner))) x),
  option as (
    select '' as prefix, o.*, target from t cross join pg_options_to_table(t.reloptions) o
    union all select 'toast.', o.*, target from t join pg_class s on s.oid = t.reltoastrelid cross join pg_options_to_table(s.reloptions) o)
  select * from (
    select 1 as turn, 'owner' as what, owner::text as is,
      format('grant usage, create on schema %I to %I; alter table %s owner to %2$I', $2::text, owner, target) as make, null as unmake from t
    union all select 2, 'persistence', relpersistence::text,
      format('alter table %s set %s', target, case relpersistence when 'u' then 'unlogged' else 'logged' end), null from t
    union all select 2, 'tablespace', s.spcname::text, format('alter table %s set tablespace %I', target, s.spcname), null
      from t join pg_database d on d.datname = current_database() join pg_tablespace s on s.oid = coalesce(nullif(t.reltablespace, 0), d.dattablespace)
    union all select 2, 'access method', m.amname::text, null, null from t join pg_am m on m.oid = t.relam
    union all select 2, 'type', reloftype::regtype::text, null, null from t where reloftype <> 0
    union all select 2, 'member of extension', e.extname::text, null, null
      from t join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = t.oid and d.deptype = 'e' join pg_extension e on e.oid = d.refobjid
    union all select 2, 'row security', format('%s, %s', relrowsecurity, relforcerowsecurity),
      format('alter table %s %s row level security, %s row level security', target, case when relrowsecurity then 'enable' else 'disable' end,
        case when relforcerowsecurity then 'force' else 'no force' end), null from t
    union all select 2, 'replica identity', relreplident::text || coalesce(' ' || i.relname, ''),
      format('alter table %s replica identity %s', target, case relreplident when 'd' then 'default' when 'n' then 'nothing' when 'f' then 'full'
        else format('using index %I', i.relname) end), null from t left join idx i on i.indisreplident
    union all select 2, 'clustered by', coalesce(i.relname, ''),
      format('alter table %s %s', target, case when i.relname is null then 'set without cluster' else format('cluster on %I', i.relname) end), null
      from t left join idx i on i.indisclustered
    union all select 2, format('storage parameter %s%s', prefix, option_name), option_value,
      format('alter table %s set (%s%s = %L)', target, prefix, option_name, option_value),
      format('alter table %s reset (%s%s)', target, prefix, option_name) from option
    union all select 2, called, concat_ws(' ', 'number', place, 'of type', format_type(atttypid, atttypmod), 'collate ' || attcollation::regcollation::text,
        case when attnotnull then 'not null' end, 'default ' || pg_get_expr(f.adbin, f.adrelid), 'generated ' || nullif(attgenerated::text, ''),
        'identity ' || nullif(attidentity::text, '')), null, null
      from col left join pg_attrdef f on f.adrelid = attrelid and f.adnum = attnum
    union all select 2, 'storage of ' || called, attstorage::text, format('%s set storage %s', alter,
        case attstorage when 'p' then 'plain' when 'e' then 'external' when 'm' then 'main' else 'extended' end), null from col
    union all select 2, 'compression of ' || called, attcompression::text, format('%s set compression %s', alter,
        case attcompression when 'p' then 'pglz' when 'l' then 'lz4' else 'default' end), null from col
    union all select 2, 'statistics target of ' || called, coalesce(nullif(attstattarget, -1)::text, ''),
      format('%s set statistics %s', alter, coalesce(attstattarget, -1)), null from col
    union all select 2, format('option %s of %s', o.option_name, called), o.option_value,
      format('%s set (%s = %L)', alter, o.option_name, o.option_value), format('%s reset (%s)', alter, o.option_name)
      from col cross join pg_options_to_table(attoptions) o
    union all select 2, 'sequence of ' || called, relname::text, null, null from seq
    union all select 3, 'numbers of ' || called, numbers, format('alter %s %s', target, numbers), null from seq cross join lateral (
      select format('as %s start %s increment %s minvalue %s maxvalue %s cache %s %s', seqtypid::regtype, seqstart, seqincrement, seqmin, seqmax,
        seqcache, case when seqcycle then 'cycle' else 'no cycle' end) as numbers) x
    union all select 2, format('constraint %I', conname), concat_ws(' ', pg_get_constraintdef(oid), 'triggers ' || nullif((select string_agg(g.tgenabled::text, '' order by g.tgtype)
        from pg_trigger g where g.tgconstraint = con.oid and g.tgrelid = con.conrelid), '')), null, null from con
    union all select 2, format('index %I', relname), concat_ws(' ', def, case when not indisvalid then 'invalid' end), null, null from idx
    union all select 2, format('tablespace of index %I', relname), s.spcname::text, format('alter index %I.%I set tablespace %I', $2::text, relname, s.spcname), null
      from idx join pg_database d on d.datname = current_database() join pg_tablespace s on s.oid = coalesce(nullif(idx.reltablespace, 0), d.dattablespace)
    union all select 2, format('statistics target of column %s of index %I', a.attnum, relname), a.attstattarget::text,
      format('alter index %I.%I alter column %s set statistics %s', $2::text, relname, a.attnum, a.attstattarget),
      format('alter index %I.%I alter column %s set statistics -1', $2::text, relname, a.attnum)
      from idx join pg_attribute a on a.attrelid = indexrelid and a.attstattarget >= 0
    union all select 2, format('statistics %I', stxname), format('(%s) on %s', kinds, columns),
      format('create statistics %s %s on %s from %s', name, coalesce('(' || nullif(kinds, '') || ')', ''), columns, of), 'drop statistics ' || name from stat
    union all select 3, format('owner of statistics %I', stxname), stxowner::regrole::text,
      format('alter statistics %s owner to %s', name, stxowner::regrole), null from stat
    union all select 3, format('statistics target of statistics %I', stxname), coalesce(nullif(target, '-1'), ''),
      format('alter statistics %s set statistics %s', name, coalesce(target, '-1')), null from stat
    union all select 3, 'comment on ' || c.target, d.description, format('comment on %s is %L', c.target, d.description), format('comment on %s is null', c.target)
      from commented c join pg_description d on d.classoid = c.classid and d.objoid = c.oid and d.objsubid = c.sub
    union all select 3, 'security label on ' || c.target, format('%s: %s', l.provider, l.label), null, null
      from commented c join pg_seclabel l on l.classoid = c.classid and l.objoid = c.oid and l.objsubid = c.sub
    union all select 3, format('grant of %s%s on %s to %s', privilege_type, columns, "on", to_role),
      concat_ws(' ', 'by', case when grantor = relowner then 'the owner' else grantor::regrole::text end, case when is_grantable then 'with grant option' end),
      case when grantor = relowner then format('grant %s%s on %s to %s%s', privilege_type, columns, "on", to_role, case when is_grantable then ' with grant option' else '' end) end,
      case when grantor = relowner then format('revoke %s%s on %s from %s', privilege_type, columns, "on", to_role) end
      from acl cross join lateral (select case when grantee = 0 then 'public' else grantee::regrole::text end as to_role) r
  ) all_of_it order by turn, what, "is"`
