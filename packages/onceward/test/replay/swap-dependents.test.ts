import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { cancelCampaign, finishCampaign, verifyCampaign } from '../../src/replay/campaign/steer-campaign.ts'
import { skipWithout } from '../services/services.ts'
import { facts, Scene } from './scene.ts'

type Context = Parameters<typeof Scene.open>[0]

const mayChange = ['number', 'small', 'far', 'at']

async function rebuilt(t: Context, prepare = '') {
  const scene = await Scene.open(t)
  const compare = { effect: { columns: ['times'], ...(prepare.includes('numbers') && { mayChange }) } }
  const consumer = scene.contract({ replay: { modes: ['rebuild'], tables: ['effect'], compare } })
  await scene.pool.query(prepare)
  await scene.write(...facts(5))
  await scene.live(consumer)
  const replay = await scene.replay(consumer)
  const id = await scene.planned(replay, { mode: 'rebuild' })
  await replay.run(id)
  await verifyCampaign(scene.pool, id)
  return { scene, consumer, replay, id }
}

/** Made on a table between preview and swap, how the refusal names it, and how it is taken away again. */
const hanging: Readonly<Record<string, readonly [make: string, named: RegExp, unmake: string]>> = {
  view: ['create view report as select * from effect', /view report reads it/, 'drop view report'],
  'materialized view': [
    'create materialized view sums as select sum(times) from effect',
    /materialized view sums reads it/,
    'drop materialized view sums',
  ],
  trigger: [
    `create trigger counted after insert on effect execute function stamp()`,
    /trigger counted fires on it/,
    'drop trigger counted on effect',
  ],
  'constraint trigger': [
    `create constraint trigger checked after insert on effect for each row execute function stamp()`,
    /trigger checked fires on it/,
    'drop trigger checked on effect',
  ],
  'foreign key to it': [
    'create table line (effect_id text references effect)',
    /foreign key line_effect_id_fkey of line refers to it/,
    'drop table line',
  ],
  'foreign key to itself': [
    'alter table effect add constraint self foreign key (mode) references effect not valid',
    /foreign key self of effect refers to it/,
    'alter table effect drop constraint self',
  ],
  rule: [
    'create rule also as on insert to effect do also notify effect',
    /rule also rewrites it/,
    'drop rule also on effect',
  ],
  'rule of another table': [
    'create table other (id text); create rule onward as on insert to other do also delete from effect where id = new.id',
    /rule onward on table other depends on it/,
    'drop table other',
  ],
  publication: [
    'create publication published for table effect',
    /publication published publishes it/,
    'drop publication published',
  ],
  'publication of a schema': [
    'create publication published for tables in schema public',
    /publication published publishes it/,
    'drop publication published',
  ],
  'publication of everything': [
    'create publication published for all tables',
    /publication published publishes it/,
    'drop publication published',
  ],
  policy: [
    'create policy mine on effect using (true)',
    /policy mine guards it/,
    'drop policy mine on effect',
  ],
  'policy of another table': [
    'create table guarded (id text); create policy theirs on guarded using (exists (select from effect e where e.id = guarded.id))',
    /policy theirs on table guarded depends on it/,
    'drop table guarded',
  ],
  'function with a parsed body': [
    'create function total() returns bigint begin atomic select sum(times) from effect; end',
    /function total\(\) depends on it/,
    'drop function total()',
  ],
  'function of its row type': [
    'create function twice(effect) returns int language sql as $$ select $1.times * 2 $$',
    /function twice\(effect\) depends on it/,
    'drop function twice(effect)',
  ],
  'column of its row type': [
    'create table copy (was effect)',
    /column was of table copy depends on it/,
    'drop table copy',
  ],
  'column of an array of it': [
    'create table copy (were effect[])',
    /column were of table copy depends on it/,
    'drop table copy',
  ],
  'domain over its row type': [
    'create domain checked as effect check ((value).times > 0)',
    /type checked depends on it/,
    'drop domain checked',
  ],
  'composite type with its row type': [
    'create type pair as (a effect, b int)',
    /column a of composite type pair depends on it/,
    'drop type pair',
  ],
  'inheritance child': [
    'create table child () inherits (effect)',
    /table child depends on it/,
    'drop table child',
  ],
  'inheritance parent': [
    'create table parent (id text not null); alter table effect inherit parent',
    /it inherits from parent/,
    'alter table effect no inherit parent; drop table parent',
  ],
  partitioned: [
    `create table whole (id text not null, times integer not null, mode text not null) partition by list (mode);
     alter table whole attach partition effect for values in ('live')`,
    /it inherits from whole/,
    'alter table whole detach partition effect; drop table whole',
  ],
  column: [
    'alter table effect add column more text',
    /column more \(live: number 4 of type text/,
    'alter table effect drop column more',
  ],
  'column default': [
    'alter table effect alter column times set default 5',
    /column times \(live: .*default 5; rebuilt: .*default 1/,
    'alter table effect alter column times set default 1',
  ],
  'generated column': [
    'alter table effect add column double integer generated always as (times * 2) stored',
    /column double \(live: .*generated s; rebuilt: none/,
    'alter table effect drop column double',
  ],
  'type of a column': [
    'alter table effect alter column times type bigint',
    /column times \(live: .*bigint.*; rebuilt: .*integer/,
    'alter table effect alter column times type integer',
  ],
  index: ['create index by_mode on effect (mode)', /index by_mode/, 'drop index by_mode'],
  'check constraint': [
    'alter table effect add constraint positive check (times > 0)',
    /constraint positive \(live: CHECK/,
    'alter table effect drop constraint positive',
  ],
  'foreign key of its own': [
    `create table known (mode text primary key); insert into known values ('live');
     alter table effect add constraint known_mode foreign key (mode) references known not valid`,
    /constraint known_mode \(live: FOREIGN KEY/,
    'alter table effect drop constraint known_mode; drop table known',
  ],
  'security label': [
    `set allow_system_table_mods = on;
     insert into pg_seclabel (objoid, classoid, objsubid, provider, label) values ('effect'::regclass, 'pg_class'::regclass, 0, 'selinux', 'secret')`,
    /security label on table .* \(live: selinux: secret/,
    `set allow_system_table_mods = on; delete from pg_seclabel`,
  ],
  'grant by another role': [
    `set allow_system_table_mods = on;
     update pg_class set relacl = acldefault('r', relowner) || makeaclitem('pg_monitor'::regrole, 'pg_read_all_data'::regrole, 'SELECT', false) where oid = 'effect'::regclass`,
    /grant of SELECT on .* to pg_monitor \(live: by pg_read_all_data/,
    `update pg_class set relacl = null where oid = 'effect'::regclass`,
  ],
}

/** Made on the live table between preview and swap, and asked of whatever is live afterwards. */
const carried: Readonly<Record<string, readonly [make: string, ask: string]>> = {
  comments: [
    `comment on table effect is 'it''s <ours>'; comment on column effect.times is 'how often';
     comment on constraint effect_pkey on effect is 'the key'; comment on index effect_pkey is 'its index'`,
    `select obj_description('effect'::regclass), col_description('effect'::regclass, 2), obj_description('effect_pkey'::regclass),
       (select obj_description(oid, 'pg_constraint') from pg_constraint where conname = 'effect_pkey' and conrelid = 'effect'::regclass) as key`,
  ],
  grants: [
    `grant select, update on effect to pg_monitor with grant option; grant select (times) on effect to public;
     grant insert on effect to pg_read_all_stats; revoke delete on effect from current_user`,
    `select (select array_agg(x::text order by x::text) from unnest(relacl) x) as acl,
       (select attacl::text from pg_attribute where attrelid = c.oid and attname = 'times') from pg_class c where oid = 'effect'::regclass`,
  ],
  owner: [
    'alter table effect owner to pg_monitor',
    `select pg_get_userbyid(relowner) from pg_class where oid = 'effect'::regclass`,
  ],
  'storage parameters': [
    `alter table effect set (fillfactor = 70, autovacuum_enabled = false, toast.autovacuum_enabled = false);
     alter table effect alter column times set (n_distinct = 5), alter column times set statistics 50, alter column mode set storage external,
       alter column mode set compression pglz`,
    `select array(select unnest(c.reloptions) order by 1) as options, s.reloptions as toast, array(select row(attoptions, attstattarget, attstorage, attcompression)::text from pg_attribute
       where attrelid = c.oid and attnum > 0 order by attnum) from pg_class c join pg_class s on s.oid = c.reltoastrelid where c.oid = 'effect'::regclass`,
  ],
  'row security': [
    'alter table effect enable row level security, force row level security',
    `select relrowsecurity, relforcerowsecurity from pg_class where oid = 'effect'::regclass`,
  ],
  'replica identity': [
    'alter table effect replica identity using index effect_pkey',
    `select relreplident, (select indisreplident from pg_index where indrelid = c.oid) from pg_class c where oid = 'effect'::regclass`,
  ],
  'clustered index': [
    'alter table effect cluster on effect_pkey',
    `select indisclustered from pg_index where indrelid = 'effect'::regclass`,
  ],
  'statistics object': [
    `create schema reports; create statistics reports.together (ndistinct, mcv) on times, mode from effect; create statistics longer on (times + 1) from effect;
     alter statistics reports.together set statistics 7; comment on statistics longer is 'expression'`,
    `select stxnamespace::regnamespace::text, stxname, pg_get_statisticsobjdef_columns(oid), stxkind, stxstattarget, obj_description(oid, 'pg_statistic_ext')
     from pg_statistic_ext where stxrelid = 'effect'::regclass order by 2`,
  ],
  tablespaces: [
    'alter table effect set tablespace pg_default; alter index effect_pkey set tablespace pg_default',
    `select relname, reltablespace from pg_class where oid in ('effect'::regclass, 'effect_pkey'::regclass) order by 1`,
  ],
  'name of an index': [
    'alter index effect_pkey rename to the_key',
    `select conname, (select relname from pg_class where oid = conindid) from pg_constraint where conrelid = 'effect'::regclass and contype = 'p'`,
  ],
  'sequence ownership': [
    'create sequence counter owned by effect.times',
    `select pg_get_serial_sequence('effect', 'times')`,
  ],
}

describe('objects that depend on a table between preview and swap', await skipWithout('postgres'), () => {
  let opened: Awaited<ReturnType<typeof rebuilt>>
  const ends: (() => Promise<void>)[] = []
  before(async () => {
    opened = await rebuilt({ after: (end: () => Promise<void>) => ends.push(end) } as unknown as Context)
    await opened.scene.pool.query(
      'create function stamp() returns trigger language plpgsql as $$ begin return new; end $$',
    )
  })
  after(async () => {
    for (const end of ends) await end()
  })

  for (const [kind, [make, named, unmake]] of Object.entries(hanging))
    test(`${kind}: is named, and refuses the swap`, async () => {
      const { scene, replay, id } = opened
      await scene.pool.query(make)
      try {
        await assert.rejects(replay.swap(id), named)
        assert.deepEqual(await scene.rows('select state from onceward.campaign'), [{ state: 'verified' }])
      } finally {
        await scene.pool.query(unmake)
      }
    })

  test('event trigger: what it does to the moved table is seen before the commit', async () => {
    const { scene, replay, id } = opened
    await scene.pool.query(`
      create function meddle() returns event_trigger language plpgsql as $$ begin
        if to_regclass('onceward_old_1.effect') is not null and to_regclass('public.effect') is not null
        then grant truncate on public.effect to public; end if; end $$;
      create event trigger meddles on ddl_command_end when tag in ('ALTER TABLE') execute function meddle()`)
    await assert.rejects(replay.swap(id), /grant of TRUNCATE on .* to public/)
    await scene.pool.query('drop event trigger meddles')
    await scene.pool.query(
      'create trigger inside after insert on onceward_shadow_1.effect execute function stamp()',
    )
    await assert.rejects(
      replay.swap(id),
      /onceward_shadow_1.effect cannot be swapped: trigger inside fires on it/,
    )
    await scene.pool.query('drop trigger inside on onceward_shadow_1.effect')
  })

  test('cancel drops no objects of others either, and reports what is left', async t => {
    const { scene, id } = await rebuilt(t)
    await scene.pool.query('create view beside as select * from onceward_shadow_1.effect')
    await assert.rejects(
      cancelCampaign(scene.pool, id, 'a test'),
      /is cancelled, but its tables remain: .*view beside reads it.* Drop schema onceward_shadow_1 by hand/,
    )
    assert.deepEqual(await scene.rows('select state from onceward.campaign'), [{ state: 'cancelled' }])
    assert.equal((await scene.rows('select from beside')).length, 5)
  })

  test('swap, rollback and finish each check again, and drop no objects of others', async () => {
    const { scene, replay, id } = opened
    await replay.swap(id)
    await scene.pool.query('create view report as select * from effect')
    await assert.rejects(replay.rollBack(id), /public.effect cannot be swapped: view report reads it/)
    await scene.pool.query('create view earlier as select * from onceward_old_1.effect')
    await assert.rejects(
      finishCampaign(scene.pool, id),
      /onceward_old_1.effect cannot be dropped: view earlier reads it/,
    )
    await scene.pool.query('drop view earlier; create table onceward_old_1.keepsake ()')
    await assert.rejects(
      finishCampaign(scene.pool, id),
      /Schema onceward_old_1 cannot be dropped: .*table onceward_old_1.keepsake/,
    )
    assert.deepEqual(await scene.rows('select count(*)::int as n from onceward_old_1.effect'), [{ n: 5 }])
    await scene.pool.query('drop table onceward_old_1.keepsake')
    assert.equal((await finishCampaign(scene.pool, id)).state, 'finished')
    assert.deepEqual(await scene.rows('select count(*)::int as n from report'), [{ n: 5 }])
  })

  for (const [kind, [make, ask]] of Object.entries(carried))
    test(`${kind}: is carried over exactly, by the swap, the rollback and the finish`, async t => {
      const { scene, consumer, replay, id } = await rebuilt(t)
      await scene.pool.query(make)
      const wanted = await scene.rows(ask)
      await replay.swap(id)
      assert.deepEqual(await scene.rows(ask), wanted)
      await replay.rollBack(id)
      assert.deepEqual(await scene.rows(ask), wanted)
      const next = await scene.planned(replay, { mode: 'rebuild' })
      await replay.run(next)
      await verifyCampaign(scene.pool, next)
      await replay.swap(next)
      await finishCampaign(scene.pool, next)
      assert.deepEqual(await scene.rows(ask), wanted)
      await scene.write(...facts(1, 'after'))
      await scene.live(consumer)
      assert.equal((await scene.rows('select from effect')).length, 6)
    })

  test('a table with everything on it has the same in pg_depend after swap and finish', async t => {
    const { scene, consumer, replay, id } = await rebuilt(t, everything)
    const depends = await scene.rows(walk)
    assert.ok(depends.length > 40, `${depends.length}`)
    await replay.swap(id)
    assert.deepEqual(await scene.rows(walk), depends)
    await replay.rollBack(id)
    assert.deepEqual(await scene.rows(walk), depends)
    const next = await scene.planned(replay, { mode: 'rebuild' })
    await replay.run(next)
    await verifyCampaign(scene.pool, next)
    await replay.swap(next)
    await finishCampaign(scene.pool, next)
    assert.deepEqual(await scene.rows(walk), depends)
    await scene.write(...facts(1, 'after'))
    await scene.live(consumer)
    assert.equal((await scene.rows('select from effect')).length, 6)
  })

  test('all dependent objects are named at once', async t => {
    const { scene, replay, id } = await rebuilt(
      t,
      'create function stamp() returns trigger language plpgsql as $$ begin return new; end $$',
    )
    const kinds = [
      'view',
      'materialized view',
      'trigger',
      'foreign key to it',
      'rule',
      'publication',
      'policy',
    ]
    const more = [
      'function with a parsed body',
      'function of its row type',
      'column of its row type',
      'inheritance child',
    ]
    const all = [...kinds, ...more].map(kind => hanging[kind]!)
    for (const [make] of all) await scene.pool.query(make)
    const error = await replay.swap(id).then(
      () => assert.fail('swapped'),
      (thrown: Error) => thrown,
    )
    for (const [, named] of all) assert.match(error.message, named)
  })
})

const everything = `
  create table known (mode text primary key); insert into known values ('live'), ('rebuild');
  create sequence apart;
  alter table effect add column number integer generated always as identity (sequence name numbers start 1),
    add column small serial, add column far bigint default nextval('apart'), add column double integer generated always as (times * 2) stored,
    add column at timestamptz default now(), add constraint positive check (times > 0), add constraint by_mode foreign key (mode) references known,
    add constraint far_once unique (far) deferrable, add constraint apart_ones exclude using btree (id with =), replica identity full;
  alter table effect rename constraint effect_pkey to the_key; alter sequence apart owned by effect.far;
  create index second on effect (mode); create index first on effect (mode); create index partly on effect ((times + 1)) include (mode) where times > 3;
  alter index partly alter column 1 set statistics 77;
  create statistics st_one (ndistinct, mcv) on times, mode from effect; create statistics st_two on (times + 1) from effect;
  comment on table effect is 'all'; comment on constraint positive on effect is 'more than none'; grant select on effect to pg_monitor;
  grant usage on sequence numbers to pg_monitor; alter table effect enable row level security`

/**
 * Every row of pg_depend under the table and its parts, without the numbers that names of toast tables and
 * inner triggers are made of.
 */
const walk = `
  with recursive w (classid, objid) as (
    select 'pg_class'::regclass::oid, 'effect'::regclass::oid
    union select d.classid, d.objid from w join pg_depend d on d.refclassid = w.classid and d.refobjid = w.objid)
  select distinct regexp_replace(pg_describe_object(d.classid, d.objid, d.objsubid), '\\d{4,}', 'N', 'g') as object, d.deptype,
    regexp_replace(pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid), '\\d{4,}', 'N', 'g') as on
  from w join pg_depend d on d.refclassid = w.classid and d.refobjid = w.objid
  where not exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace, pg_attrdef f
    where f.oid = d.objid and d.classid = 'pg_attrdef'::regclass and c.oid = f.adrelid and n.nspname like 'onceward%') order by 1, 2, 3`
