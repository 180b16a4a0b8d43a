import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { audit, jsonRoundedCodec, projection, transition } from 'onceward'
import { skipWithout } from '../services/services.ts'
import { DeclaredRig, type Passage } from './declared-rig.ts'

type Row = Record<string, unknown>

const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }
const [unsafe, long] = [rawJSON('9007199254740993'), rawJSON('0.10000000000000000001')]

const columns = {
  n2: 'numeric(6,2)',
  whole: 'numeric(6,0)',
  hundreds: 'numeric(3,-2)',
  cent: 'cents',
  price: 'price',
  many: 'numeric(4,1)[]',
  prices: 'price[]',
  times: 'timestamptz(0)[]',
  counts: 'integer[]',
  words: 'text[]',
  small: 'smallint',
  code: 'varchar(3)',
  said: 'text',
  doc: 'jsonb',
  at: 'timestamptz(0)',
  span: 'interval',
  rest: 'interval(2)',
  age: 'interval year to month',
  days: 'interval day',
  spans: 'spell[]',
  fixed: 'char(3)',
  bits: 'bit(3)',
  letter: '"char"',
  range: 'int4range',
  ranges: 'numrange[]',
}
const names = Object.keys(columns)
const declared = Object.entries(columns).map(([name, type]) => `${name} ${type}`)

const tables = `
  create domain cents as numeric(10,2);
  create domain price as cents check (value >= 0);
  create domain spell as interval(0);
  create table trail (event_id text collate "C" primary key, digest bytea not null, consumer text not null, message_id text not null,
    recorded_at timestamptz not null default now(), ${declared});
  create table machine (id text primary key, state text not null, ${declared});
  create table machine_fact (seq bigint generated always as identity primary key, transition_id text collate "C" not null unique,
    consumer text not null, aggregate_id text not null, from_state text, to_state text not null, version bigint, actor text, reason text,
    message_id text not null, at timestamptz not null default now());
  create table board (id text primary key, version bigint not null, ${declared})`

const readers = Object.fromEntries(names.map(name => [name, (message: Row) => message[name] ?? null]))
const declaredEffects = (set: typeof readers, prefix = '') => ({
  trail: audit<Row>({ table: `${prefix}trail`, eventId: m => m.event, columns: set }),
  machine: transition<Row>({
    machine: { initial: 'open', states: ['open'], events: { opened: [{ from: null, to: 'open' }] } },
    aggregate: { table: `${prefix}machine`, key: 'id', state: 'state' },
    facts: 'machine_fact',
    aggregateId: m => m.event,
    transitionId: m => m.event,
    event: () => 'opened',
    actor: () => null,
    reason: () => null,
    set,
  }),
  board: projection<Row>({
    table: `${prefix}board`,
    key: { id: 'event' },
    version: { version: () => 1 },
    columns: set,
    gap: 'skips allowed',
  }),
})
const effects = declaredEffects(readers)

const refused: readonly (readonly [string, unknown, RegExp])[] = [
  ['n2', '1.005', /more decimal places than numeric\(6,2\) stores/],
  ['n2', 1.005, /more decimal places than numeric\(6,2\) stores/],
  ['n2', '12345', /more digits before the decimal point/],
  ['n2', long, /more digits than a JavaScript number keeps/],
  ['whole', 1.5, /more decimal places than numeric\(6,0\) stores/],
  ['hundreds', 1250, /numeric\(3,-2\) stores/],
  ['cent', '1.005', /numeric\(10,2\) stores/],
  ['price', '1.005', /numeric\(10,2\) stores/],
  ['many', [1.5, 2.25], /numeric\(4,1\) stores/],
  ['many', '{2.25}', /it is not a list; pass an array of values/],
  ['prices', ['1.005'], /numeric\(10,2\) stores/],
  ['prices', '{1.005}', /it is not a list/],
  ['times', ['2026-11-05T08:00:00.5Z'], /more fractional digits of a second than the 0/],
  ['times', '{now}', /it is not a list/],
  ['counts', [2147483648], /out of range for integer/],
  ['small', 32768, /out of range for smallint/],
  ['code', 'ab  ', /more characters than character varying\(3\) stores/],
  ['said', long, /more digits than a JavaScript number keeps/],
  ['doc', { deep: [{ n: long }] }, /more digits than a JavaScript number keeps/],
  ['at', '2026-11-05T08:00:00.5Z', /more fractional digits of a second than the 0/],
  ['at', 'now', /not an ISO 8601 time/],
  ['span', '-1 2:03:04', /not an ISO 8601 interval/],
  ['span', '1 day', /not an ISO 8601 interval/],
  ['span', 'P0.5M', /not an ISO 8601 interval/],
  ['span', 'P1DT', /not an ISO 8601 interval/],
  ['span', 'P', /not an ISO 8601 interval/],
  ['span', 'PT1.0000001S', /more fractional digits of a second than the 6/],
  ['span', 86_400_000, /not an ISO 8601 interval/],
  ['rest', 'PT0.125S', /more fractional digits of a second than the 2/],
  ['age', 'P1Y2M3D', /it has a day, which interval year to month does not store/],
  ['days', 'P1DT0.5S', /it has a second, which interval day does not store/],
  ['spans', ['PT1S', 'PT0.5S'], /more fractional digits of a second than the 0/],
  ['spans', '{-1 2:03}', /it is not a list/],
  ['fixed', 'abcd', /more characters than character\(3\) stores/],
  ['letter', 'ab', /more than 1 byte/],
]

const good = {
  n2: '-1234.50',
  whole: 999999,
  cent: 7,
  price: 1.25,
  many: [1.5, '2.0', null],
  prices: ['1.25', 2],
  times: ['2026-11-05T08:00:00+02:00'],
  counts: '{1,2}',
  words: ['a,"b"\\', ''],
  small: -32768,
  code: 'äöü',
  said: 1.25,
  doc: { deep: [{ n: 1.5 }] },
  at: '2026-11-05T08:00:00.000Z',
  span: 'P-1Y2M3W4DT5H-6M-7.123456S',
  rest: 'PT0.250S',
  age: 'P14M0DT0S',
  days: 'P2M40D',
  spans: ['PT1S', null, 'P1D'],
  fixed: 'abc',
  bits: '101',
  letter: 'x',
  range: '[1,5)',
  ranges: ['(0.10,2.005]', null],
}

describe('columns of declared effects', await skipWithout('postgres'), () => {
  let rig: DeclaredRig
  before(async () => {
    rig = await DeclaredRig.open()
    await rig.pool.query(tables)
  })
  after(() => rig.close())

  const refusals = async (
    apply: unknown,
    values: readonly (readonly [string, unknown])[],
    passage?: Passage,
  ) => {
    const messages = values.map(([column, value], n) => ({ id: `m${n}`, event: `r${n}`, [column]: value }))
    const { name } = await rig.pass(apply, messages, passage)
    const rows = await rig.rows(
      `select message_id as id, state || ': ' || reason as said from onceward.held
       where consumer_id = (select id from onceward.consumer where name = $1)`,
      [name],
    )
    const said = new Map(rows.map(row => [row.id, String(row.said)]))
    return values.map((_, n) => said.get(`m${n}`) ?? 'nothing')
  }

  for (const [table, apply] of Object.entries(effects)) {
    test(`${table}: a value that PostgreSQL would silently change is refused with the column and the reason`, async () => {
      const said = await refusals(apply, refused as never)
      const other = refused.filter(
        ([column, , why], n) =>
          !said[n]!.startsWith('quarantined: ') || !said[n]!.includes(column) || !why.test(said[n]!),
      )
      assert.deepEqual(other, [], said.join('\n'))
      assert.deepEqual(await rig.rows(`select from ${table}`), [])
    })

    test(`${table}: a number of 2^53 or more that was rounded is refused in every column`, async () => {
      const values = ['n2', 'cent', 'price', 'small', 'code', 'said'].map(column => [column, unsafe] as const)
      const contract = { message: { codec: jsonRoundedCodec } }
      for (const said of await refusals(apply, [...values, ['prices', [unsafe]]], { contract }))
        assert.match(said, /^quarantined: .*9007199254740992 is a whole number of 2\^53 or more/)
      assert.deepEqual(await rig.rows(`select from ${table}`), [])
    })

    test(`${table}: values are stored as they were written`, async () => {
      await rig.pass(apply, [{ ...good, id: 'g', event: 'good' }])
      const [row] = await rig.rows(
        `select n2::text, whole::text, cent::text, price::text, many::text, prices::text, counts::text, words, small, code, said, doc,
           (times[1] at time zone 'UTC')::text as time, (at at time zone 'UTC')::text as at,
           extract(year from span) || ' ' || extract(month from span) || ' ' || extract(day from span) || ' ' || extract(epoch from span - date_trunc('day', span)) as span,
           extract(epoch from rest) || '' as rest, extract(year from age) || ' ' || extract(month from age) as age,
           extract(month from days) || ' ' || extract(day from days) as days, extract(epoch from spans[3]) || '' as spans,
           fixed, bits::text, letter, range::text, ranges::text from ${table}`,
      )
      assert.deepEqual(row, {
        n2: '-1234.50',
        whole: '999999',
        cent: '7.00',
        price: '1.25',
        many: '{1.5,2.0,NULL}',
        prices: '{1.25,2.00}',
        counts: '{1,2}',
        words: ['a,"b"\\', ''],
        small: -32768,
        code: 'äöü',
        said: '1.25',
        doc: { deep: [{ n: 1.5 }] },
        time: '2026-11-05 06:00:00',
        at: '2026-11-05 08:00:00',
        span: '0 -10 25 17632.876544',
        rest: '0.250000',
        age: '1 2',
        days: '2 40',
        spans: '86400.000000',
        fixed: 'abc',
        bits: '101',
        letter: 'x',
        range: '[1,5)',
        ranges: '{"(0.10,2.005]",NULL}',
      })
    })
  }

  const unfit = [
    ['tstzrange', /range of timestamp with time zone, which depends on the session/],
    ['tsrange', /range of timestamp without time zone/],
    ['daterange', /range of date/],
    ['tstzmultirange', /multirange of timestamp with time zone/],
    ['stay', /range of date/],
    ['stay[]', /range of date/],
    ['span_range', /range of interval/],
    ['leg', /composite type leg, whose fields are not checked/],
    ['leg[]', /composite type leg/],
    ['trip', /composite type leg/],
    ['regclass', /regclass, which depends on the search path/],
    ['regtype[]', /regtype, which depends on the search path/],
    ['money[]', /money, which rounds and depends on the session/],
  ] as const
  test('columns whose values depend on the session are refused at start, also in domains and lists', async () => {
    await rig.pool.query(`
      create domain stay as daterange; create type span_range as range (subtype = interval);
      create type leg as (starts timestamptz, price numeric(6,2)); create domain trip as leg check (true)`)
    const add = unfit.map(([type], n) => `add bad_${n} ${type}`).join(', ')
    const bad = Object.fromEntries(unfit.map((_, n) => [`bad_${n}`, () => null]))
    const { trail, machine, board } = declaredEffects(bad, 'unfit_')
    for (const [table, apply] of Object.entries({ trail, machine, board })) {
      await rig.pool.query(
        `create table unfit_${table} (like ${table} including all); alter table unfit_${table} ${add}`,
      )
      const error = await rig.pass(apply, []).then(
        () => 'started',
        reason => String(reason.message),
      )
      for (const [n, [type, why]] of unfit.entries())
        assert.match(error, new RegExp(`bad_${n} is .*${why.source}`), `${table}, ${type}`)
    }
  })
})
