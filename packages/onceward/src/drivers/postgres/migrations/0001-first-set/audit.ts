/** The audit: what people did or tried to do, as a chain of hashes. */
export const audit = `
-- One row per act. The hash of a row covers its content and the hash of the previous row, so a changed or
-- removed row is detected. The newest hash can be kept outside the database.
create table onceward.audit (
  seq      bigint primary key,
  at       timestamptz not null,
  actor    text not null,
  action   text not null,
  outcome  text not null check (outcome in ('done', 'refused')),
  consumer text,
  subject  text,
  reason   text not null,
  detail   jsonb not null,
  previous bytea not null,
  hash     bytea not null
);
create table onceward.audit_head (
  one  boolean primary key default true check (one),
  seq  bigint not null,
  hash bytea not null
);
insert into onceward.audit_head (seq, hash) values (0, '');

create function onceward.audit_field(value text) returns text language sql immutable
return coalesce(octet_length(value)::text || ':' || value, '-') || ',';

create function onceward.audit_content(entry onceward.audit) returns text language sql stable
return onceward.audit_field((entry).seq::text)
  || onceward.audit_field(to_char((entry).at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
  || onceward.audit_field((entry).actor) || onceward.audit_field((entry).action)
  || onceward.audit_field((entry).outcome) || onceward.audit_field((entry).consumer)
  || onceward.audit_field((entry).subject) || onceward.audit_field((entry).reason)
  || onceward.audit_field((entry).detail::text);

-- Sets number, time, actor and hash of a new row. The row of audit_head is the lock: writers of the audit
-- wait for each other here, and no other statement waits for them.
create function onceward.audit_chain() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
declare head onceward.audit_head;
begin
  select * into head from onceward.audit_head for update;
  new.seq := head.seq + 1;
  new.at := clock_timestamp();
  new.actor := onceward.actor();
  new.previous := head.hash;
  new.hash := sha256(head.hash || convert_to(onceward.audit_content(new), 'UTF8'));
  update onceward.audit_head set seq = new.seq, hash = new.hash;
  return new;
end $$;
create trigger chain before insert on onceward.audit for each row execute function onceward.audit_chain();

create function onceward.audit_immutable() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  raise exception 'the audit is append-only: % is not allowed', lower(tg_op)
    using errcode = 'insufficient_privilege';
end $$;
create trigger append_only before update or delete or truncate on onceward.audit
  for each statement execute function onceward.audit_immutable();
create trigger append_only before delete or truncate on onceward.audit_head
  for each statement execute function onceward.audit_immutable();

-- Writes one row. A session that leaves its transaction open after an act keeps the lock of the head, and
-- blocks all other acts. The server therefore ends such a session after one minute.
create function onceward.audit_entry(action text, outcome text, consumer text, subject text, reason text,
  detail jsonb default '{}')
returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare idle constant interval := current_setting('idle_in_transaction_session_timeout')::interval;
begin
  if idle = interval '0' or idle > interval '1 minute' then
    perform set_config('idle_in_transaction_session_timeout', '60s', true); end if;
  insert into onceward.audit (seq, at, actor, action, outcome, consumer, subject, reason, detail,
    previous, hash)
  values (0, clock_timestamp(), '', action, outcome, consumer, subject, reason, detail, '', '');
end $$;

-- Refuses an act. A refusal is returned and not raised: an error would roll back its own audit row. The
-- caller may still roll back, so the refusal is also in the server log.
create function onceward.refuse(action text, consumer text, subject text, why text, detail jsonb default '{}')
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform onceward.audit_entry(action, 'refused', consumer, subject, why, detail);
  raise log 'onceward refused % "%" on % %: %', onceward.actor(), action, coalesce(consumer, '-'),
    coalesce(subject, '-'), why;
  return jsonb_build_object('ok', false, 'why', why);
end $$;

-- Some rules read rows that they cannot lock. Under a snapshot from before the act they would read old rows.
create function onceward.assert_read_committed() returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    raise exception 'This function requires isolation level read committed, not %. Nothing was changed.',
      current_setting('transaction_isolation') using errcode = 'invalid_transaction_state'; end if;
end $$;
`
