/** What is compared under a business key is the content as people fixed it. Behind the other parts: it gives the rights anew. */
export const fixedKeys = `
-- A fix changes the content under the business key: whoever waits for the key, or comes later, is compared with what will be applied. The key of
-- other content under the id of a message that is done stays that message's.
do $do$
declare signature constant text := 'new_id text, because text)';
  plain constant text := $$if kind = 'payload' then update onceward.held set body = fix_parked.body where id = number; end if;$$;
  body text := pg_catalog.pg_get_functiondef('onceward.fix_parked(text, bigint, text, bytea, bytea, bytea, text, text)'::regprocedure);
begin
  if position(plain in body) = 0 or position(signature in body) = 0 then raise exception 'fix_parked is not as it was'; end if;
  drop function onceward.fix_parked(text, bigint, text, bytea, bytea, bytea, text, text);
  execute replace(replace(body, signature, 'new_id text, because text, key_digest bytea default null)'), plain, $$if kind = 'payload' then
    update onceward.held set body = fix_parked.body, key_digest = coalesce(fix_parked.key_digest, held.key_digest) where id = number;
    update onceward.business_key k set digest = fix_parked.key_digest
      where fix_parked.key_digest is not null and k.consumer_id = of and k.key = h.business_key and k.message_id = h.message_id and exists (
        select from onceward.inbox i where i.consumer_id = of and i.message_id = h.message_id and i.digest = h.digest
          and i.status in ('parked', 'dead', 'quarantined'));
  end if;$$);
end $do$;
revoke execute on function onceward.fix_parked from public;

do $do$ begin
  if exists (select from pg_catalog.pg_namespace n, aclexplode(n.nspacl) a join pg_catalog.pg_roles r on r.oid = a.grantee
    where n.nspname = 'onceward' and r.rolname = 'onceward_operator') then
    perform onceward.create_roles();
  end if;
end $do$;
`
