/** Who did what, in a chain nobody can mend; whom an approval binds to what; and the moves of parked work, each one statement for its caller. */
export const parking = `
-- Roles that belong to one human being each. Only they request and approve: a shared role would let one person be two.
create table onceward.person (
  role_name text primary key,
  at        timestamptz not null default clock_timestamp(),
  added_by  text not null default session_user
);

-- Who acts. The login of the session, which no client can set; only members of onceward_console may speak for their users.
-- Membership is looked up, not asked for: a superuser would be a member of everything.
create function onceward.is_console() returns boolean language sql stable
return exists (
  select from pg_catalog.pg_auth_members m
  join pg_catalog.pg_roles g on g.oid = m.roleid join pg_catalog.pg_roles u on u.oid = m.member
  where g.rolname = 'onceward_console' and u.rolname = session_user);

create function onceward.actor() returns text language sql stable
return case when onceward.is_console()
  then coalesce(nullif(pg_catalog.current_setting('onceward.acting_as', true), '') || ' (via ' || session_user || ')', session_user)
  else session_user::text end;

-- One human being has one name, whether the console says it or the login: who asks by the one does not approve by the other.
create function onceward.human_of(actor text) returns text language sql immutable
return regexp_replace(actor, ' [(]via [^()]*[)]$', '');

create function onceward.is_person() returns boolean language sql stable
return exists (select from onceward.person where role_name = session_user)
  or (onceward.is_console() and coalesce(pg_catalog.current_setting('onceward.acting_as', true), '') <> '');

-- What people did or tried. Each row's hash covers its content and the hash before it; the last one can be kept elsewhere.
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
  || onceward.audit_field((entry).actor) || onceward.audit_field((entry).action) || onceward.audit_field((entry).outcome)
  || onceward.audit_field((entry).consumer) || onceward.audit_field((entry).subject) || onceward.audit_field((entry).reason)
  || onceward.audit_field((entry).detail::text);

-- The row of the head is the lock: writers of the audit take turns, and nobody else ever waits for them.
create function onceward.audit_chain() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
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

create function onceward.audit_stands() returns trigger language plpgsql as $$
begin
  raise exception 'the audit is written once: % is refused', lower(tg_op) using errcode = 'insufficient_privilege';
end $$;
create trigger stands before update or delete or truncate on onceward.audit for each statement execute function onceward.audit_stands();
create trigger stands before delete or truncate on onceward.audit_head for each statement execute function onceward.audit_stands();

create function onceward.audit_entry(action text, outcome text, consumer text, subject text, reason text, detail jsonb default '{}')
returns void language sql security definer set search_path = pg_catalog, pg_temp
begin atomic
  insert into onceward.audit (seq, at, actor, action, outcome, consumer, subject, reason, detail, previous, hash)
  values (0, clock_timestamp(), '', action, outcome, consumer, subject, reason, detail, '', '');
end;

-- A refusal is an answer, not an error: an error would take its own record back with it.
create function onceward.refuse(action text, consumer text, subject text, why text, detail jsonb default '{}')
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform onceward.audit_entry(action, 'refused', consumer, subject, why, detail);
  return jsonb_build_object('ok', false, 'why', why);
end $$;

-- What earlier commands write down for people is under the name the database knows, whatever the client says, and goes into the audit as well.
create function onceward.held_action_actor() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  new.by := onceward.actor();
  new.consumer_id := coalesce((select h.consumer_id from onceward.held h where h.id = new.held_id), new.consumer_id);
  return new;
end $$;
create trigger actor before insert on onceward.held_action for each row execute function onceward.held_action_actor();
create function onceward.ledger_action_actor() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$ begin new.actor := onceward.actor(); return new; end $$;
create trigger actor before insert on onceward.ledger_action for each row execute function onceward.ledger_action_actor();
create function onceward.gap_actor() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$ begin new.accepted_by := onceward.actor(); return new; end $$;
create trigger actor before update of accepted_at on onceward.gap for each row
  when (old.accepted_at is null and new.accepted_at is not null) execute function onceward.gap_actor();

create function onceward.audit_held_action() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform onceward.audit_entry('inbox ' || n.did, 'done', (
      select c.name from onceward.held h join onceward.consumer c on c.id = h.consumer_id where h.id = min(n.held_id)),
    string_agg(n.held_id::text, ' ' order by n.held_id), n.because)
  from written n group by n.did, n.because;
  return null;
end $$;
create trigger audited after insert on onceward.held_action referencing new table as written
  for each statement execute function onceward.audit_held_action();

create function onceward.audit_ledger_action() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform onceward.audit_entry('ledger ' || new.action, 'done', l.consumer_name, new.ledger_id::text, new.reason,
    jsonb_build_object('from', new.from_state, 'to', new.to_state, 'target', l.target, 'key', l.effect_key))
  from onceward.ledger l where l.id = new.ledger_id;
  return null;
end $$;
create trigger audited after insert on onceward.ledger_action for each row execute function onceward.audit_ledger_action();

create function onceward.audit_gap() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform onceward.audit_entry('losses accept', 'done', (select name from onceward.consumer where id = new.consumer_id), new.id::text,
    coalesce(new.accepted_because, ''), jsonb_build_object('partition', new.partition, 'records', new.records));
  return null;
end $$;
create trigger audited after update of accepted_at on onceward.gap for each row
  when (old.accepted_at is null and new.accepted_at is not null) execute function onceward.audit_gap();

-- A blocked key waits for people while it is parked, and for workers once it is released; then live messages of it wait at the source, or go
-- behind what is left, until it is empty and whoever sweeps removes the row. waiting is how many were put behind its head.
alter table onceward.blocked_key
  add column state   text not null default 'parked' check (state in ('parked', 'released')),
  add column waiting integer not null default 0;

-- The cause of a failure, for people who want one row for a thousand alike.
create function onceward.place_of(place text, origin text, message_type text) returns text language sql immutable
return coalesce(nullif(place, '') || ' on ', '') || coalesce(message_type || ' from ', '') || origin;
create function onceward.cause_of(failure_class text, code text, place text) returns text language sql immutable
return left(md5(failure_class || chr(31) || code || chr(31) || place), 12);

-- Only rows that wait for people: nothing of the work queue is in these.
create index held_for_people on onceward.held (consumer_id, state, id) where state in ('parked', 'dead', 'quarantined');
create index held_by_cause on onceward.held
  (consumer_id, onceward.cause_of(failure_class, code, onceward.place_of(place, origin, message_type)), id)
  where state in ('parked', 'dead', 'quarantined');

-- How many wait for people, by cause: one row per change, folded now and then. As counters, two batches that park would wait for each other.
create table onceward.parked_count (
  consumer_id   integer not null,
  state         onceward.held_state not null,
  failure_class text not null,
  code          text not null,
  place         text not null,
  delta         bigint not null
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

insert into onceward.parked_count
select consumer_id, state, failure_class, code, onceward.place_of(place, origin, message_type), count(*)
from onceward.held where state in ('parked', 'dead', 'quarantined') group by 1, 2, 3, 4, 5;

create function onceward.fold_parked_counts(rows_max integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare folded integer;
begin
  if not pg_try_advisory_xact_lock(hashtext('onceward.parked_count')) then return 0; end if;
  with gone as (
    delete from onceward.parked_count where ctid = any (array(select ctid from onceward.parked_count limit rows_max)) returning *),
  kept as (
    insert into onceward.parked_count
    select consumer_id, state, failure_class, code, place, sum(delta) from gone group by 1, 2, 3, 4, 5 having sum(delta) <> 0)
  select count(*) into folded from gone;
  return folded;
end $$;

create function onceward.count_parked() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' and old.state in ('parked', 'dead', 'quarantined') then
    insert into onceward.parked_count
    values (old.consumer_id, old.state, old.failure_class, old.code, onceward.place_of(old.place, old.origin, old.message_type), -1);
  end if;
  if tg_op <> 'DELETE' and new.state in ('parked', 'dead', 'quarantined') then
    insert into onceward.parked_count
    values (new.consumer_id, new.state, new.failure_class, new.code, onceward.place_of(new.place, new.origin, new.message_type), 1);
    if random() < 0.004 then perform onceward.fold_parked_counts(1000); end if;
  end if;
  return null;
end $$;
create trigger counted after insert on onceward.held for each row
  when (new.state in ('parked', 'dead', 'quarantined')) execute function onceward.count_parked();
create trigger recounted after update of state, failure_class, code, place on onceward.held for each row
  when (old.state in ('parked', 'dead', 'quarantined') or new.state in ('parked', 'dead', 'quarantined'))
  execute function onceward.count_parked();
create trigger uncounted after delete on onceward.held for each row
  when (old.state in ('parked', 'dead', 'quarantined')) execute function onceward.count_parked();

create index held_action_of on onceward.held_action (held_id);

-- What people made of a row: a word for it, and whose it is.
create table onceward.triage (
  held_id  bigint primary key,
  label    text,
  assignee text,
  note     text,
  at       timestamptz not null default clock_timestamp(),
  actor    text not null default onceward.actor()
);
create index triage_assigned on onceward.triage (assignee) where assignee is not null;

-- One row per fix: what was there before it. The identity and its digest stay, so that the marker goes on protecting; both digests are kept.
create table onceward.lineage (
  id             bigint generated always as identity primary key,
  held_id        bigint not null,
  consumer_id    integer not null,
  message_id     text collate "C" not null,
  at             timestamptz not null default clock_timestamp(),
  actor          text not null default onceward.actor(),
  kind           text not null check (kind in ('payload', 'state')),
  reason         text not null,
  digest_before  bytea not null,
  digest_after   bytea not null,
  body_before    bytea
);
create index lineage_by_message on onceward.lineage (consumer_id, message_id);
create index lineage_by_row on onceward.lineage (held_id);

-- Rows that left without an effect, by a person's decision: declared gaps. A deleted one keeps its digest and its record, not its bytes. Rebuilt:
-- their effect is in the tables that a rebuild swapped in.
create table onceward.closed_held (
  held_id     bigint primary key,
  consumer_id integer not null,
  message_id  text collate "C",
  digest      bytea not null,
  how         text not null check (how in ('skipped', 'deleted', 'rebuilt')),
  at          timestamptz not null default clock_timestamp(),
  actor       text not null default onceward.actor(),
  reason      text not null,
  record      jsonb not null,
  body        bytea
);
create index closed_held_of on onceward.closed_held (consumer_id, held_id);

-- A row as its record and back. Headers go as text: json may say what jsonb refuses, and a sender could make a row that nobody can close.
create function onceward.record_of(h onceward.held) returns jsonb language plpgsql stable as $$
begin
  h.headers := to_json(h.headers::text);
  h.properties := to_json(h.properties::text);
  h.body := '';
  return to_jsonb(h) - 'body';
end $$;
create function onceward.held_of(record jsonb, body bytea) returns onceward.held language plpgsql stable as $$
declare h onceward.held := jsonb_populate_record(null::onceward.held, record);
begin
  h.headers := (h.headers #>> '{}')::json;
  h.properties := (h.properties #>> '{}')::json;
  h.body := body;
  h.lease_until := null;
  return h;
end $$;

-- One replay of parked work: an exact selection, moved in stages under one request id, however often it is asked for.
create table onceward.redrive (
  id           bigint generated always as identity primary key,
  request_id   text not null unique,
  consumer_id  integer not null,
  at           timestamptz not null default clock_timestamp(),
  actor        text not null default onceward.actor(),
  reason       text not null,
  digest       bytea not null,
  rate_max     integer check (rate_max > 0),
  state        text not null default 'moving' check (state in ('moving', 'stopped', 'moved')),
  next_at      timestamptz not null default clock_timestamp(),
  -- Everything selected up to this number is moved or left.
  done_to      bigint not null default 0
);
-- What became of it is read from the held row and the marker while the row is this redrive's; outcome is what it was when another act came.
create table onceward.redrive_row (
  redrive_id bigint not null,
  held_id    bigint not null,
  message_id text collate "C",
  behind     boolean not null default false,
  state      text not null default 'selected' check (state in ('selected', 'moved', 'left')),
  why        text,
  moved_at   timestamptz,
  outcome    text,
  primary key (redrive_id, held_id)
);
create index redrive_row_of on onceward.redrive_row (held_id);

create table onceward.approval (
  id           bigint generated always as identity primary key,
  verb         text not null check (verb in ('delete')),
  consumer_id  integer not null,
  held_ids     bigint[] not null,
  digest       bytea not null,
  reason       text not null,
  requested_by text not null,
  requested_at timestamptz not null,
  expires_at   timestamptz not null,
  approved_by  text,
  approved_at  timestamptz,
  executed_by  text,
  executed_at  timestamptz,
  check (onceward.human_of(approved_by) <> onceward.human_of(requested_by)),
  check ((approved_by is null) = (approved_at is null)),
  check (executed_at is null or approved_at is not null)
);

-- Whatever statement touches an approval: the names and the times are the database's, one step at a time, and nothing else ever changes.
create function onceward.approval_step() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    if not onceward.is_person() then
      raise exception 'role % is not listed in onceward.person', session_user using errcode = 'insufficient_privilege'; end if;
    new.requested_by := onceward.actor();
    new.requested_at := clock_timestamp();
    new.expires_at := least(new.expires_at, new.requested_at + interval '7 days');
    new.approved_by := null; new.approved_at := null; new.executed_by := null; new.executed_at := null;
    return new;
  end if;
  if (new.id, new.verb, new.consumer_id, new.held_ids, new.digest, new.reason, new.requested_by, new.requested_at, new.expires_at)
    is distinct from (old.id, old.verb, old.consumer_id, old.held_ids, old.digest, old.reason, old.requested_by, old.requested_at, old.expires_at)
  then raise exception 'a request for approval never changes' using errcode = 'insufficient_privilege'; end if;
  if clock_timestamp() > old.expires_at then
    raise exception 'request % has expired', old.id using errcode = 'insufficient_privilege'; end if;
  if old.approved_at is null then
    if not onceward.is_person() then
      raise exception 'role % is not listed in onceward.person', session_user using errcode = 'insufficient_privilege'; end if;
    if onceward.human_of(onceward.actor()) = onceward.human_of(old.requested_by) then
      raise exception 'who requests does not approve' using errcode = 'insufficient_privilege'; end if;
    new.approved_by := onceward.actor();
    new.approved_at := clock_timestamp();
    new.executed_by := null; new.executed_at := null;
  elsif old.executed_at is null then
    new.approved_by := old.approved_by; new.approved_at := old.approved_at;
    new.executed_by := onceward.actor();
    new.executed_at := clock_timestamp();
  else raise exception 'request % is executed', old.id using errcode = 'insufficient_privilege';
  end if;
  return new;
end $$;
create trigger step before insert or update on onceward.approval for each row execute function onceward.approval_step();
create trigger stands before delete or truncate on onceward.approval for each statement execute function onceward.audit_stands();
`
