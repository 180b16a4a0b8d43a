import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import {
  audit,
  contribution,
  defineConsumer,
  jsonBigintCodec,
  jsonRoundedCodec,
  projection,
  realEnvironment,
  runConsumer,
  type SqlTransaction,
  transition,
} from 'onceward'
import { createPostgresStore, createQueue, postgresQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { z } from 'zod'
import { skipWithout } from '../services/services.ts'
import { DeclaredRig, silent } from './declared-rig.ts'

const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }
/** A number as the producer writes it. */
const literal = (text: string) => rawJSON(text)

interface Booking {
  readonly id: string
  readonly account: string | number | bigint
  readonly amount: string | number | bigint
  readonly [name: string]: unknown
}

const tables = `
  create table account (account text primary key, version bigint not null, amount numeric);
  create table numbered (account bigint primary key, version integer not null, amount numeric);
  create table booked (event_id text collate "C" not null, sign smallint not null, key varchar(20) not null, amount numeric(12,2) not null,
    message_id text, primary key (event_id, sign));
  create table booked_sum (key text primary key, count bigint not null, amount numeric not null);
  create table happened (event_id text collate "C" not null, sign smallint not null, key text not null, window_start timestamptz not null,
    occurred_at timestamptz not null, message_id text, primary key (event_id, sign));
  create table happened_sum (key text, window_start timestamptz, count bigint not null, latest_at timestamptz not null, primary key (key, window_start));
  create domain cents as numeric(10,2);
  create table kept (id text primary key, version bigint not null, n2 numeric(6,2), small smallint, whole integer, r real, d double precision,
    short varchar(3), at timestamptz, at0 timestamptz(0), local timestamp, day date, clock time, zoned timetz, many numeric(4,1)[], doc jsonb, of cents, said text);
  create table trail (event_id text collate "C" primary key, digest bytea not null, consumer text not null, message_id text not null,
    recorded_at timestamptz not null default now(), amount numeric(6,2), at timestamptz);
  create table machine (id bigint primary key, state text not null, version integer not null, due timestamptz(0), amount numeric(6,2));
  create table machine_fact (seq bigint generated always as identity primary key, transition_id text collate "C" not null unique,
    consumer text not null, aggregate_id text not null, from_state text, to_state text not null, version bigint not null, actor text, reason text,
    message_id text not null, at timestamptz not null default now())`

describe('values of declared effects', await skipWithout('postgres'), () => {
  let rig: DeclaredRig
  before(async () => {
    rig = await DeclaredRig.open()
    await rig.pool.query(tables)
  })
  after(() => rig.close())

  const reasons = async (name: string) =>
    Object.fromEntries(
      (
        await rig.rows(
          `select message_id, state || ' ' || code || ': ' || reason as said from onceward.held
           where consumer_id = (select id from onceward.consumer where name = $1)`,
          [name],
        )
      ).map(row => [row.message_id, row.said]),
    )

  const accounts = (table: string, key: (booking: Booking) => unknown) =>
    projection<Booking>({
      table,
      key: { account: key },
      version: { version: 'version' },
      columns: { amount: 'amount' },
      gap: 'skips allowed',
    })
  const ledger = () =>
    contribution<Booking>({
      facts: 'booked',
      summary: 'booked_sum',
      window: 'none',
      key: m => `acc-${m.account}`,
      eventId: m => m.id,
      values: { amount: m => m.amount },
    })
  const big = ['9007199254740992', '9007199254740993']
  const numbers = big.map((digits, n) => ({ id: `n${n}`, version: 1, account: literal(digits), amount: 5 }))

  test('two account numbers beyond 2^53 are never one row or one balance, however the contract reads them', async () => {
    for (const apply of [
      accounts('account', m => `acc-${m.account}`),
      accounts('numbered', m => m.account),
      ledger(),
    ]) {
      const { name } = await rig.pass(apply, numbers)
      const said = await reasons(name)
      for (const [n, digits] of big.entries())
        assert.match(
          String(said[`n${n}`]),
          new RegExp(
            `^quarantined inexact_number: field "account" is ${digits}, .*send it as text, or set message.codec`,
          ),
        )
    }
    assert.deepEqual(
      await rig.rows('select from account union all select from numbered union all select from booked'),
      [],
    )
  })

  test('with jsonBigintCodec they are two, exactly, in identities, keys, schemas and amounts', async () => {
    const schema = z.object({
      id: z.string(),
      version: z.number(),
      account: z.coerce.bigint(),
      amount: z.coerce.bigint(),
    })
    const contract = { message: { codec: jsonBigintCodec, schema } as never }
    const messages = numbers.map((one, n) => ({ ...one, amount: literal(n === 0 ? '7' : '9999999999') }))
    await rig.pass(
      accounts('numbered', m => m.account),
      messages,
      { contract },
    )
    await rig.pass(ledger(), messages, { contract })
    assert.deepEqual(await rig.rows('select account::text, amount::text from numbered order by account'), [
      { account: big[0], amount: '7' },
      { account: big[1], amount: '9999999999' },
    ])
    assert.deepEqual(await rig.rows('select key, amount::text from booked_sum order by key'), [
      { key: `acc-${big[0]}`, amount: '7.00' },
      { key: `acc-${big[1]}`, amount: '9999999999.00' },
    ])
    const id = {
      identity: {
        id: (m: { account: bigint }) => m.account,
        orderKey: (m: { account: bigint }) => m.account,
      },
      order: 'key',
    }
    const { name } = await rig.pass(
      accounts('numbered', m => m.account),
      messages,
      {
        contract: { ...contract, ...id } as never,
      },
    )
    assert.deepEqual(Object.keys(await rig.markers(name)).sort(), big)
  })

  test('under other codecs unsafe numbers are refused where they identify or count', async () => {
    const contract = { message: { codec: jsonRoundedCodec } }
    const amount = [{ id: 'c1', version: 1, account: 'x', amount: literal(big[1]!) }]
    const key = await rig.pass(
      accounts('numbered', m => m.account),
      numbers.slice(0, 1),
      { contract },
    )
    assert.match(
      String((await reasons(key.name)).n0),
      /key_malformed: key column "account": 9007199254740992 is a whole number of 2\^53 or more.*send it as text/,
    )
    for (const [apply, field] of [
      [ledger(), 'values.amount'],
      [accounts('account', m => m.account), 'column "amount"'],
    ] as const) {
      const { name } = await rig.pass(apply, amount, { contract })
      assert.match(
        String((await reasons(name)).c1),
        new RegExp(`${field}.*9007199254740992 is a whole number of 2\\^53 or more`),
      )
    }
    const version = await rig.pass(
      accounts('account', m => m.account),
      [{ id: 'v1', account: 'x', version: literal(big[1]!) }],
      { contract },
    )
    assert.match(
      String((await reasons(version.name)).v1),
      /version_malformed: the version is 9007199254740992: .*2\^53/,
    )
    const identity = {
      id: (m: unknown) => (m as Booking).id,
      businessKey: (m: unknown) => (m as Booking).account,
      businessDigest: (m: unknown) => (m as Booking).amount,
    }
    const digest = await rig.pass(
      accounts('account', m => m.account),
      amount,
      { contract: { ...contract, identity } },
    )
    assert.match(
      String((await reasons(digest.name)).c1),
      /business_key_malformed: businessDigest: .*9007199254740992, a whole number of 2\^53/,
    )
    const rounded = await rig.pass(
      accounts('account', m => m.account),
      [{ id: 'd1', version: 1, account: 'x', amount: literal('0.10000000000000000001') }],
      { contract: { identity } },
    )
    assert.match(
      String((await reasons(rounded.name)).d1),
      /business_key_malformed: businessDigest: .*0.10000000000000000001 has more digits than a JavaScript number/,
    )
  })

  test('decimals with more digits than a double or the column keeps are refused; others are booked as written', async () => {
    const amounts: Record<string, [string, RegExp | null]> = {
      tenth: ['0.1', null],
      zeros: ['1.500', null],
      text: ['"1234567890.12"', null],
      thousandth: ['0.125', /values.amount .* more decimal places than numeric\(12,2\) stores/],
      wide: ['12345678901', /more digits before the decimal point than numeric\(12,2\) stores/],
      long: [
        '0.10000000000000000555',
        /0.10000000000000000555 has more digits than a JavaScript number keeps \(0.1\); send it as text/,
      ],
      nearly: ['0.99999999999999999999', /has more digits than a JavaScript number keeps \(1\)/],
      huge: ['1e400', /Infinity is not a number that a table can store/],
      tiny: ['1e-7', /more decimal places/],
      word: ['"NaN"', /it is not a plain decimal number/],
      none: ['null', /it is missing/],
      bool: ['true', /it is not a number/],
    }
    const { name } = await rig.pass(
      ledger(),
      Object.entries(amounts).map(([id, [text]]) => ({ id, account: id, amount: literal(text) })),
    )
    const said = await reasons(name)
    for (const [id, [, why]] of Object.entries(amounts))
      if (why === null) assert.equal(said[id], undefined, id)
      else assert.match(String(said[id]), why, id)
    assert.deepEqual(
      await rig.rows(
        `select key, amount::text from booked_sum where key in ('acc-tenth', 'acc-zeros', 'acc-text') order by key`,
      ),
      [
        { key: 'acc-tenth', amount: '0.10' },
        { key: 'acc-text', amount: '1234567890.12' },
        { key: 'acc-zeros', amount: '1.50' },
      ],
    )
    const long = await rig.pass(ledger(), [{ id: 'toolong', account: 'a'.repeat(30), amount: 1 }])
    assert.match(
      String((await reasons(long.name)).toolong),
      /key cannot be read.*more characters than character varying\(20\) stores/,
    )
  })

  test('a projection keeps values as they are, or refuses them with the column and the reason', async () => {
    const columns = [
      'n2',
      'small',
      'whole',
      'r',
      'd',
      'short',
      'at',
      'at0',
      'local',
      'day',
      'clock',
      'zoned',
      'many',
      'doc',
      'of',
      'said',
    ]
    const apply = projection<Record<string, unknown>>({
      table: 'kept',
      key: { id: 'id' },
      version: { version: m => m.version ?? 1 },
      columns: Object.fromEntries(columns.map(column => [column, column])),
      gap: 'skips allowed',
    })
    const refused: [string, unknown, RegExp][] = [
      ['n2', '1.005', /more decimal places than numeric\(6,2\)/],
      ['n2', 12345, /more digits before the decimal point/],
      ['n2', 'Infinity', /not a plain decimal/],
      ['small', 32768, /out of range for smallint/],
      ['whole', '2147483648', /out of range for integer/],
      ['whole', 1.5, /not a whole number/],
      ['r', 0.1234567, /more than the 6 digits that real preserves; make the column numeric/],
      ['d', '0.12345678901234567', /more than the 15 digits that double precision preserves/],
      ['d', literal('0.10000000000000000001'), /more digits than a JavaScript number keeps/],
      ['short', 'ab  ', /more characters than character varying\(3\) stores/],
      ['at', 'now', /not an ISO 8601 time; give a Date, or ISO 8601 text with its time zone/],
      ['at', 'infinity', /not an ISO 8601 time/],
      ['at', '2026-11-05T08:00:00', /has no time zone/],
      ['at', '05-11-2026', /not an ISO 8601 time/],
      ['at', 1763344800000, /it is not a time/],
      ['at', '2026-11-05T08:00:00.1234567Z', /more fractional digits of a second than the 6/],
      ['at0', '2026-11-05T08:00:00.5Z', /more fractional digits of a second than the 0/],
      ['local', '2026-11-05T08:00:00', /has no time zone/],
      ['day', 'today', /not an ISO 8601 date/],
      ['day', '2026-11-05T23:00:00Z', /not an ISO 8601 date/],
      ['clock', '08:00:00+02', /has a time zone, which the column would drop/],
      ['clock', 'now', /not an ISO 8601 time of day/],
      ['zoned', '08:00:00', /has no time zone/],
      ['many', [1.5, 2.25], /more decimal places than numeric\(4,1\)/],
      ['doc', { deep: [literal('0.10000000000000000001')] }, /more digits than a JavaScript number keeps/],
      ['of', '1.005', /more decimal places than numeric\(10,2\)/],
      ['said', literal('0.10000000000000000001'), /more digits than a JavaScript number keeps/],
    ]
    const { name } = await rig.pass(
      apply,
      refused.map(([column, value], n) => ({ id: `r${n}`, [column]: value })),
    )
    const said = await reasons(name)
    for (const [n, [column, , why]] of refused.entries()) {
      assert.match(
        String(said[`r${n}`]),
        new RegExp(`^quarantined column_unreadable: column "${column}": `),
        `${column} ${n}`,
      )
      assert.match(String(said[`r${n}`]), why, `${column} ${n}`)
    }
    assert.deepEqual(await rig.rows('select from kept'), [])
    const long = await rig.pass(apply, [{ id: 'l', version: '9223372036854775808' }])
    assert.match(String((await reasons(long.name)).l), /version_malformed.*out of range for bigint/)
    await rig.pass(apply, [
      {
        id: 'good',
        n2: '-1234.50',
        small: -32768,
        whole: '2147483647',
        r: 0.5,
        d: 6.02e23,
        short: 'äöü',
        at: '2026-11-05T08:00:00.123456+02:00',
        at0: '2026-11-05T08:00:00.000Z',
        local: '2026-11-05T08:00:00+02:00',
        day: '2026-11-05',
        clock: '08:30',
        zoned: '08:30:00+02',
        many: [1.5, '2.0', null],
        doc: { n: 1.5 },
        of: 7,
        said: 1.25,
      },
    ])
    const [row] =
      await rig.rows(`select n2::text, small, whole, r, d, short, (at at time zone 'UTC')::text as at, (at0 at time zone 'UTC')::text as at0,
      local::text, day::text, clock::text, zoned::text, many::text, doc, of::text, said from kept`)
    assert.deepEqual(row, {
      n2: '-1234.50',
      small: -32768,
      whole: 2147483647,
      r: 0.5,
      d: 6.02e23,
      short: 'äöü',
      at: '2026-11-05 06:00:00.123456',
      at0: '2026-11-05 08:00:00',
      local: '2026-11-05 06:00:00',
      day: '2026-11-05',
      clock: '08:30:00',
      zoned: '08:30:00+02',
      many: '{1.5,2.0,NULL}',
      doc: { n: 1.5 },
      of: '7.00',
      said: '1.25',
    })
  })

  test('documents and texts keep every digit of a bigint', async () => {
    const apply = projection<Record<string, unknown>>({
      table: 'kept',
      key: { id: 'id' },
      version: { version: 'version' },
      columns: { doc: m => ({ n: m.n }), said: 'n' },
      gap: 'skips allowed',
    })
    await rig.pass(apply, [{ id: 'big', version: 1, n: literal('12345678901234567890123') }], {
      contract: { message: { codec: jsonBigintCodec } },
    })
    assert.deepEqual(await rig.rows(`select doc::text, said from kept where id = 'big'`), [
      { doc: '{"n": 12345678901234567890123}', said: '12345678901234567890123' },
    ])
  })

  test('in stored mode, in headers of a queue and in bodies of effects every digit is kept', async () => {
    await createQueue(rig.pool, 'wide')
    await createQueue(rig.pool, 'wide_out')
    const body = `{"account":${big[1]}}`
    await publish(rig.pool, 'wide', [{ messageId: 'x', body }])
    await rig.pool.query(`update onceward.queue_message set headers = '{"id":${big[1]}}'`)
    type Wide = { readonly account: bigint }
    const consumer = defineConsumer<Wide, SqlTransaction, 'gateway', 'out'>({
      name: 'wide',
      owner: 'tests',
      risk: 'projection',
      source: postgresQueue('wide'),
      message: { codec: jsonBigintCodec },
      identity: { id: { header: 'id' } },
      inbox: { mode: 'stored' },
      effect: {
        publish: { out: { broker: 'postgres', queue: 'wide_out' } },
        external: { gateway: { kind: 'http', url: 'https://gateway.example/', policy: 'keyed' } },
      },
      handle({ message, effects }) {
        effects.publish('out', { body: message })
        effects.external('gateway', { key: String(message.account), body: { of: [message.account] } })
      },
    })
    const running = await runConsumer(consumer, {
      databaseUrl: rig.url,
      env: realEnvironment({ log: silent }),
      parts: ['consumer', 'worker'],
    })
    const written = () => rig.rows(`select convert_from(body, 'UTF8') as body from onceward.outbox`)
    await until('it was applied', async () => (await written()).length === 1)
    await running.drain()
    assert.deepEqual(await rig.markers('wide'), { [big[1]!]: 'applied' })
    assert.deepEqual(await written(), [{ body }])
    assert.deepEqual(
      await rig.rows(`select effect_key, convert_from(body, 'UTF8') as body from onceward.ledger`),
      [{ effect_key: big[1], body: `{"of":[${big[1]}]}` }],
    )
  })

  test('event times are ISO 8601 with a zone, in any time zone of the process', async () => {
    const apply = contribution<{ id: string; at: string | number }>({
      facts: 'happened',
      summary: 'happened_sum',
      window: { sizeMs: 3_600_000, latenessMs: 0, late: 'accept' },
      at: m => m.at,
      key: () => 'k',
      eventId: m => m.id,
    })
    const zone = process.env.TZ
    process.env.TZ = 'Asia/Tokyo'
    try {
      const { name } = await rig.pass(apply, [
        { id: 'minus', at: '05-11-2026' },
        { id: 'leap', at: '2016-12-31T23:59:60Z' },
        { id: 'midnight', at: '2026-11-05T24:00:00Z' },
        { id: 'feb', at: '2026-02-30T00:00:00Z' },
        { id: 'rounded', at: literal('1e22') as number },
        { id: 'year 33658', at: 1e15 },
        { id: 'good', at: '2026-11-05T08:30:00+02:00' },
        { id: 'ms', at: Date.UTC(2026, 10, 5, 6, 30) },
      ])
      const said = await reasons(name)
      assert.deepEqual(Object.keys(said).sort(), [
        'feb',
        'leap',
        'midnight',
        'minus',
        'rounded',
        'year 33658',
      ])
      for (const id of ['rounded', 'year 33658'])
        assert.match(
          String(said[id]),
          /field_unreadable: at cannot be read from the message: it is not a time;/,
        )
      assert.match(
        String(said.minus),
        /field_unreadable: at cannot be read from the message: it is not an ISO 8601 time; pass milliseconds, a Date, or ISO 8601 text/,
      )
    } finally {
      if (zone === undefined) delete process.env.TZ
      else process.env.TZ = zone
    }
    assert.deepEqual(
      await rig.rows(
        `select event_id, extract(epoch from occurred_at)::float8 as at from happened order by event_id`,
      ),
      ['good', 'ms'].map(id => ({ event_id: id, at: Date.UTC(2026, 10, 5, 6, 30) / 1000 })),
    )
  })

  test('an audit trail and a transition refuse what their columns would change', async () => {
    const trail = audit<Record<string, unknown>>({
      table: 'trail',
      eventId: m => m.id,
      columns: { amount: m => m.amount, at: m => m.at },
    })
    const recorded = await rig.pass(trail, [
      { id: 'a1', amount: '1.005', at: '2026-11-05T08:00:00Z' },
      { id: 'a2', amount: '1.50', at: 'yesterday' },
      { id: 'a3', amount: '1.50', at: '2026-11-05T08:00:00Z' },
    ])
    const said = await reasons(recorded.name)
    assert.match(String(said.a1), /columns.amount .*more decimal places/)
    assert.match(String(said.a2), /columns.at .*not an ISO 8601 time/)
    assert.deepEqual(await rig.rows('select event_id from trail'), [{ event_id: 'a3' }])
    const moves = transition<Record<string, unknown>>({
      machine: { initial: 'open', states: ['open'], events: { opened: [{ from: null, to: 'open' }] } },
      aggregate: { table: 'machine', key: 'id', state: 'state', version: 'version' },
      facts: 'machine_fact',
      aggregateId: m => m.aggregate,
      transitionId: m => m.id,
      event: () => 'opened',
      version: m => m.version as number,
      actor: () => null,
      reason: () => null,
      set: { due: m => m.due, amount: m => m.amount },
    })
    const good = { aggregate: '7', version: 1, due: '2026-11-05T08:00:00Z', amount: 1 }
    const moved = await rig.pass(
      moves,
      [
        { ...good, id: 't1', aggregate: '9223372036854775808' },
        { ...good, id: 't2', version: 2147483648 },
        { ...good, id: 't3', due: '2026-11-05T08:00:00.25Z' },
        { ...good, id: 't4', amount: 0.125 },
        { ...good, id: 't5', due: 'tomorrow' },
        { ...good, id: 't6', aggregate: literal(big[1]!) },
        { ...good, id: 't7' },
        { ...good, id: 't8', version: literal(big[1]!) },
      ],
      { contract: { message: { codec: jsonRoundedCodec } } },
    )
    const why = await reasons(moved.name)
    assert.match(String(why.t1), /aggregateId .*out of range for bigint/)
    assert.match(String(why.t2), /version .*out of range for integer/)
    assert.match(String(why.t3), /set.due .*more fractional digits of a second/)
    assert.match(String(why.t4), /set.amount .*more decimal places/)
    assert.match(String(why.t5), /set.due .*not an ISO 8601 time/)
    assert.match(String(why.t6), /aggregateId .*9007199254740992 is a whole number of 2\^53 or more/)
    assert.match(String(why.t8), /version .*9007199254740992 is a whole number of 2\^53 or more/)
    assert.deepEqual(await rig.rows('select id::text, amount::text from machine'), [
      { id: '7', amount: '1.00' },
    ])
  })

  test('a column of type money is refused at start', async () => {
    await rig.pool.query('create table cash (id text primary key, version bigint not null, amount money)')
    const consumer = defineConsumer({
      name: 'cash',
      owner: 'tests',
      risk: 'money',
      source: { kind: 'memory' } as never,
      identity: { id: (m: Booking) => m.id },
      effect: {
        apply: projection<Booking>({
          table: 'cash',
          key: { id: 'id' },
          version: { version: 'version' },
          columns: { amount: 'amount' },
          gap: 'skips allowed',
        }),
      },
    })
    const query = createPostgresStore({ pool: rig.pool }).sql!.query
    await assert.rejects(
      async () => consumer.effect!.apply!.verify(query, { consumer, env: { timers: {} } } as never),
      /columns.amount: column amount is money, which rounds and depends on the session; make it numeric/,
    )
  })
})
