/**
 * Who is who. Every rule that asks for a second person compares people by one function, `same_person`: the login and the name a console says,
 * in any spelling that a reader would take for the same, are one human being.
 */
export const people = String.raw`
-- A text without what nobody sees: compatibility forms as one, blanks of every alphabet as single ones, format characters gone.
create function onceward.visible_text(said text) returns text language sql immutable
return regexp_replace(regexp_replace(normalize(said, NFKC) collate "C",
  '[\u0001-\u0008\u000E-\u001F\u007F-\u0084\u0086-\u009F\u00AD\u034F\u0600-\u0605\u061C\u06DD\u070F\u0890\u0891\u08E2\u115F\u1160'
  || '\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u202A-\u202E\u2060-\u206F\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFFB'
  || '\U000110BD\U000110CD\U00013430-\U0001343F\U0001BCA0-\U0001BCA3\U0001D173-\U0001D17A\U000E0000-\U000E0FFF]', '', 'g'),
  '[\u0009-\u000D\u0020\u0085\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u2800\u3000]+', ' ', 'g');

-- The comparable form of a name: compatibility forms, case, invisible characters and blanks do not tell two people apart, nor does the login
-- that a console adds. Case is folded by a collation of its own, because that of a database may know ASCII only.
do $do$
declare fold text := (
  select format('collate pg_catalog.%I', c.collname) from pg_catalog.pg_collation c
  where c.collnamespace = 'pg_catalog'::regnamespace and c.collname in ('und-x-icu', 'pg_unicode_fast', 'pg_c_utf8')
    and c.collencoding in (-1, (select d.encoding from pg_catalog.pg_database d where d.datname = current_database()))
  order by array_position(array['und-x-icu', 'pg_unicode_fast', 'pg_c_utf8']::name[], c.collname) limit 1);
begin
  execute replace($body$
create or replace function onceward.human_of(actor text) returns text language sql immutable
return (
  with folded as (
    select replace(normalize(lower(upper(normalize(onceward.visible_text(actor), NFKC) FOLD) FOLD), NFKC), U&'i\0307', 'i') collate "C" as name)
  select btrim(regexp_replace(name, ' ?[(] ?via( .*)?$', '')) from folded)
$body$, 'FOLD', coalesce(fold, ''));
end $do$;

-- A name that is missing or blank is nobody, and nobody is a second person.
create function onceward.same_person(one text, other text) returns boolean language sql immutable
return coalesce(onceward.human_of(one) = onceward.human_of(other)
  or onceward.human_of(one) = '' or onceward.human_of(other) = '', true);

-- A login that is one human being speaks for nobody else, whatever roles it was given: it could be two.
create or replace function onceward.is_console() returns boolean language sql stable
return not exists (select from onceward.person where role_name = session_user) and exists (
  select from pg_catalog.pg_auth_members m
  join pg_catalog.pg_roles g on g.oid = m.roleid join pg_catalog.pg_roles u on u.oid = m.member
  where g.rolname = 'onceward_console' and u.rolname = session_user);

create or replace function onceward.actor() returns text language sql stable
return case when onceward.is_console() and onceward.human_of(pg_catalog.current_setting('onceward.acting_as', true)) <> ''
  then pg_catalog.current_setting('onceward.acting_as', true) || ' (via ' || session_user || ')'
  else session_user::text end;

create or replace function onceward.is_person() returns boolean language sql stable
return exists (select from onceward.person where role_name = session_user)
  or (onceward.is_console() and coalesce(onceward.human_of(pg_catalog.current_setting('onceward.acting_as', true)), '') <> '');

-- Not validated: a row of before that two spellings of one name approved stays as the record of it; it allows nothing any more.
do $do$
declare rule record;
begin
  for rule in select conrelid::regclass as on_table, conname from pg_catalog.pg_constraint
    where contype = 'c' and conrelid in ('onceward.approval'::regclass, 'onceward.campaign_approval'::regclass)
      and pg_catalog.pg_get_constraintdef(oid) like '%human_of%'
  loop
    execute format('alter table %s drop constraint %I', rule.on_table, rule.conname);
  end loop;
end $do$;
alter table onceward.approval add constraint approver_is_not_requester
  check (approved_by is null or not onceward.same_person(approved_by, requested_by)) not valid;
alter table onceward.campaign_approval add constraint approver_is_not_requester
  check (not onceward.same_person(approved_by, requested_by)) not valid;

-- Who made the plan, which may be another than who asked for the campaign: its ranges are what is run.
alter table onceward.campaign add column planned_by text;
update onceward.campaign c set planned_by = (
  select e.actor from onceward.campaign_event e where e.campaign_id = c.id and e.did in ('previewed', 'planned') order by e.id desc limit 1)
where c.state not in ('finished', 'cancelled');

create or replace function onceward.campaign_approval_guard() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $guard$
declare
  asked onceward.campaign;
begin
  if tg_op <> 'INSERT' then
    raise exception 'an approval is neither changed nor taken back: cancel the campaign' using errcode = 'insufficient_privilege';
  end if;
  select * into asked from onceward.campaign where id = new.campaign_id for update;
  if not onceward.is_person() then
    raise exception 'role % is nobody in person: it is not listed in onceward.person', session_user using errcode = 'insufficient_privilege';
  end if;
  if found and not asked.by_person then
    raise exception 'campaign % was asked for by %, which is nobody in person: let a person create it', asked.id, asked.requested_by
      using errcode = 'insufficient_privilege';
  end if;
  -- What stopped on its way, or has more to follow, may have outlived its approval.
  if asked.id is null or not (asked.state in ('previewed', 'paused', 'failed', 'ran', 'verified')
    or asked.state = 'running' and asked.lease_until <= clock_timestamp()) then
    raise exception 'there is no campaign % that waits to be run', new.campaign_id using errcode = 'check_violation';
  end if;
  if new.plan_digest is distinct from asked.plan_digest then
    raise exception 'campaign % has another plan than the one approved: look at it again', new.campaign_id using errcode = 'check_violation';
  end if;
  if onceward.says_nothing(new.because) then
    raise exception 'say why it may run' using errcode = 'check_violation';
  end if;
  if not onceward.same_person(onceward.actor(), asked.requested_by) and onceward.same_person(onceward.actor(), coalesce(asked.planned_by, '-')) then
    raise exception 'its plan was made by %, and who plans does not approve: let % make it again with "onceward replay preview", or somebody else approve',
      asked.planned_by, asked.requested_by using errcode = 'insufficient_privilege';
  end if;
  new.requested_by := asked.requested_by;
  new.approved_by := onceward.actor();
  new.approved_at := clock_timestamp();
  if new.expires_at <= new.approved_at or new.expires_at > new.approved_at + interval '7 days' then
    raise exception 'an approval lasts up to seven days' using errcode = 'check_violation';
  end if;
  if not onceward.same_person(new.approved_by, new.requested_by) then
    perform onceward.campaign_event_of(asked, 'approved', new.because); end if;
  return new;
end $guard$;
`
