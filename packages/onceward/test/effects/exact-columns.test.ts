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
}
const names = Object.keys(columns)
const declared = Object.entries(columns).map(([name, type]) => `${name} ${type}`)

const tables = `
  create domain cents as numeric(10,2);
  create domain price as cents check (value >= 0);
  create table trail (event_id text collate "C" primary key, digest bytea not null, consumer text not null, message_id text not null,
    recorded_at timestamptz not null default now(), ${declared});
  create table machine (id text primary key, state text not null, ${declared});
  create table machine_fact (seq bigint generated always as identity primary key, transition_id text collate "C" not null unique,
    consumer text not null, aggregate_id text not null, from_state text, to_state text not null, version bigint, actor text, reason text,
    message_id text not null, at timestamptz not null default now());
  create table board (id text primary key, version bigint not null, ${declared})`

const readers = Object.fromEntries(names.map(name => [name, (message: Row) => message[name] ?? null]))
const effects = {
  trail: audit<Row>({ table: 'trail', eventId: m => m.event, columns: readers }),
  machine: transition<Row>({
    machine: { initial: 'open', states: ['open'], events: { opened: [{ from: null, to: 'open' }] } },
    aggregate: { table: 'machine', key: 'id', state: 'state' },
    facts: 'machine_fact',
    aggregateId: m => m.event,
    transitionId: m => m.event,
    event: () => 'opened',
    actor: () => null,
    reason: () => null,
    set: readers,
  }),
  board: projection<Row>({
    table: 'board',
    key: { id: 'event' },
    version: { version: () => 1 },
    columns: readers,
    gap: 'skips allowed',
  }),
}

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
           (times[1] at time zone 'UTC')::text as time, (at at time zone 'UTC')::text as at from ${table}`,
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
      })
    })
  }
})
