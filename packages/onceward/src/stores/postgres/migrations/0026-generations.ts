/** What people decided under one generation of a consumer stands in all of them. */
export const generations = `
-- The other generations that consumed under the name of this one. That of a rebuild is none: what people skip there is about its tables.
create function onceward.other_generations(of integer) returns integer[] language sql stable
return array(
  select o.id from onceward.consumer mine join onceward.consumer o on o.name = mine.name and o.id <> mine.id
  where mine.id = of and not exists (
    select from onceward.campaign c where c.consumer_name = o.name and c.generation = o.generation and c.mode = 'rebuild'));
insert into onceward.function_right values ('other_generations', array['run', 'operator', 'approver', 'console']);

-- A campaign that was approved to take messages up does so whichever generation they were given up under.
do $do$
declare plain constant text := $$o.name = c.consumer_name and o.generation in (c.generation, c.live_generation))$$;
  body text := pg_catalog.pg_get_functiondef('onceward.reopen_given_up(bigint, text[], bytea[])'::regprocedure);
begin
  if position(plain in body) = 0 then raise exception 'reopen_given_up is not as it was'; end if;
  execute replace(body, plain, $$o.name = c.consumer_name and o.generation in (c.generation, c.live_generation)
      union all select unnest(onceward.other_generations(o.id)) from onceward.consumer o
        where o.name = c.consumer_name and o.generation = c.live_generation)$$);
end $do$;
`
