/** Markers in days ask for code of migration 10 at least; they must not let older code in than a later migration does. */
export const days = `
create or replace function onceward.attach_days(of integer) returns bigint language plpgsql set search_path = pg_catalog, pg_temp as $$
declare came bigint := onceward.move_to_days(of);
begin
  if (select relkind from pg_class where oid = 'onceward.inbox'::regclass) = 'r' then
    alter table onceward.inbox rename to inbox_rest;
    alter table onceward.inbox_rest rename constraint inbox_pkey to inbox_rest_pkey;
    create table onceward.inbox (like onceward.inbox_rest including defaults including constraints including storage,
      constraint inbox_pkey primary key (consumer_id, message_id)) partition by list (consumer_id);
    perform onceward.grant_same('inbox', 'onceward.inbox_rest');
    alter table onceward.inbox attach partition onceward.inbox_rest default;
    -- Older code takes a place on a page for a row's alone, which it is not over several tables.
    update onceward.migration set compatible_from = greatest(compatible_from, 10) where version = (select max(version) from onceward.migration);
  end if;
  execute format('alter table onceward.inbox attach partition onceward.%I for values in (%s)', 'inbox_' || of, of);
  return came;
end $$;
`
