/**
 * What a role or a database may be set to, and must change nothing that is ours: its time zone, how it writes
 * times, numbers and bytes, and a path on which tables and functions with the names of ours lie before
 * anything else.
 */
export const oddSettings = {
  timezone: 'America/Sao_Paulo',
  datestyle: 'German, DMY',
  intervalstyle: 'sql_standard',
  bytea_output: 'escape',
  extra_float_digits: '0',
  search_path: 'evil, public',
}

export const decoys = `
  create schema evil;
  do $$
  declare one record;
  begin
    for one in select relname from pg_class where relnamespace = 'onceward'::regnamespace and relkind in ('r', 'p') loop
      execute format('create table evil.%I (like onceward.%I)', one.relname, one.relname);
    end loop;
    for one in select distinct on (proname) proname from pg_proc where pronamespace = 'onceward'::regnamespace loop
      execute format($f$create function evil.%I(variadic "any") returns text language internal as 'json_build_array'$f$, one.proname);
    end loop;
  end $$;
  create function evil.refuse() returns timestamptz language plpgsql as $$ begin raise exception 'a decoy was called'; end $$;
  create function evil.now() returns timestamptz language sql return evil.refuse();
  create function evil.clock_timestamp() returns timestamptz language sql return evil.refuse();
  create function evil.eq(text, text) returns boolean language sql return evil.refuse() is null;
  create operator evil.= (leftarg = text, rightarg = text, function = evil.eq);
  grant usage on schema evil to public;`

export const setOdd = (database: string) =>
  Object.entries(oddSettings)
    .map(([name, value]) => {
      const written = name === 'search_path' ? value : `'${value}'`
      return `alter database ${database} set ${name} = ${written}`
    })
    .join(';')
