/**
 * Who acts. Every rule that requires a second person compares names with one function, `same_person`. It
 * treats a login and the name that a console passes as one person, in any spelling that a reader would take
 * for the same name.
 */
export const people = String.raw`
-- Logins that belong to one person each. Only these logins can request and approve. With a shared login, one
-- person could do both.
create table onceward.person (
  role_name text primary key,
  at        timestamptz not null default clock_timestamp(),
  added_by  text not null default session_user
);

-- The text without its invisible characters. Compatibility forms become one form, blanks of every script
-- become single spaces, format characters are removed.
create function onceward.visible_text(value text) returns text language sql immutable
return regexp_replace(regexp_replace(normalize(value, NFKC) collate "C",
  '[\u0001-\u0008\u000E-\u001F\u007F-\u0084\u0086-\u009F\u00AD\u034F\u0600-\u0605'
  '\u061C\u06DD\u070F\u0890\u0891\u08E2\u115F\u1160'
  || '\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u202A-\u202E\u2060-\u206F\u3164'
  '\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFFB'
  || '\U000110BD\U000110CD\U00013430-\U0001343F\U0001BCA0-\U0001BCA3'
  '\U0001D173-\U0001D17A\U000E0000-\U000E0FFF]', '', 'g'),
  '[\u0009-\u000D\u0020\u0085\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u2800\u3000]+', ' ', 'g');

-- True for a text without a visible character: blanks of any script, invisible characters, or null.
create function onceward.is_blank(value text) returns boolean language sql immutable
return coalesce(btrim(onceward.visible_text(value)), '') = '';

-- The comparable form of a name. It ignores compatibility forms, case, invisible characters, blanks, and the
-- login that a console appends. Case is folded by a named collation, because the default collation of the
-- database may cover ASCII only.
do $do$
declare fold text := (
  select format('collate pg_catalog.%I', c.collname) from pg_catalog.pg_collation c
  where c.collnamespace = 'pg_catalog'::regnamespace
    and c.collname in ('und-x-icu', 'pg_unicode_fast', 'pg_c_utf8')
    and c.collencoding in (-1, (select d.encoding from pg_catalog.pg_database d
      where d.datname = current_database()))
  order by array_position(array['und-x-icu', 'pg_unicode_fast', 'pg_c_utf8']::name[], c.collname) limit 1);
begin
  execute replace($body$
create function onceward.normalized_name(actor text) returns text language sql immutable
return (
  with folded as (
    select replace(normalize(lower(upper(normalize(onceward.visible_text(actor), NFKC) FOLD) FOLD), NFKC),
      U&'i\0307', 'i') collate "C" as name)
  select btrim(regexp_replace(name, ' ?[(] ?via( .*)?$', '')) from folded)
$body$, 'FOLD', coalesce(fold, ''));
end $do$;

-- A missing or blank name equals every name, so it never counts as a second person.
create function onceward.same_person(one text, other text) returns boolean language sql immutable
return coalesce(onceward.normalized_name(one) = onceward.normalized_name(other)
  or onceward.normalized_name(one) = '' or onceward.normalized_name(other) = '', true);

-- Whether the login of the session is a console, which may name its users. A login that belongs to one person
-- is never a console, even with the console role: it could act as two people. Membership is read from the
-- catalogue, because a superuser counts as a member of every role.
create function onceward.is_console() returns boolean language sql stable
return not exists (select from onceward.person where role_name = session_user) and exists (
  select from pg_catalog.pg_auth_members m
  join pg_catalog.pg_roles g on g.oid = m.roleid join pg_catalog.pg_roles u on u.oid = m.member
  where g.rolname = 'onceward_console' and u.rolname = session_user);

-- The acting person: the login of the session, which no client can set. Only a console may name the user it
-- acts for.
create function onceward.actor() returns text language sql stable
return case when onceward.is_console()
  and onceward.normalized_name(pg_catalog.current_setting('onceward.acting_as', true)) <> ''
  then pg_catalog.current_setting('onceward.acting_as', true) || ' (via ' || session_user || ')'
  else session_user::text end;

create function onceward.is_person() returns boolean language sql stable
return exists (select from onceward.person where role_name = session_user)
  or (onceward.is_console()
    and coalesce(onceward.normalized_name(pg_catalog.current_setting('onceward.acting_as', true)), '') <> '');
`
