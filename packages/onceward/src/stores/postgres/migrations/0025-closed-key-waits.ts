/**
 * What waits for the business key of a row that people close. close_rows looked for it before it waited for the marker, so it missed a message that
 * was being stored behind the row at that moment: that one stayed parked behind a holder that was gone. And it let the row's order key go before
 * the business key was passed on, so that a later message took the key from the first that waited: rows waited for higher numbers, and in circles.
 */
export const closedKeyWaits = `
do $do$
declare looks constant text := $$where h.id = any (ids) and exists (
      select from onceward.held w where w.consumer_id = of and w.business_key = k.key and w.keyless and w.business_key is not null);$$;
  passes constant text := $$if ended is not null then perform onceward.end_key_waits(of, ended, enders); end if;$$;
  frees constant text := $$freed := onceward.free_keys(of, keys);$$;
  body text := pg_catalog.pg_get_functiondef('onceward.close_rows(integer, bigint[], text, text)'::regprocedure);
begin
  if position(looks in body) = 0 or position(frees || $$
  $$ || passes in body) = 0 then raise exception 'close_rows is not as it was'; end if;
  body := replace(body, looks, 'where h.id = any (ids);');
  execute replace(body, frees || $$
  $$ || passes, passes || $$
  $$ || frees);
end $do$;
`
