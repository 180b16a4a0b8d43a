import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { contribution, projection } from 'onceward'
import type { ConsumerContract } from '../../src/contract/contract.ts'
import { defineConsumer } from '../../src/contract/define-consumer.ts'
import { durationMs, durationText } from '../../src/contract/duration.ts'
import { assertKeptLongEnough, neededRetention } from '../../src/contract/needed-retention.ts'
import { maxAgeMs } from '../../src/contract/source-windows.ts'
import type { RetentionSection } from '../../src/contract/upkeep-sections.ts'
import type { OncewardError } from '../../src/errors.ts'
import { idTimeMs, ownTimeMs } from '../../src/message/own-time.ts'
import { assertClocksAgree, type ClockWatch } from '../../src/operations/retention/clock-watch.ts'

const day = 86_400_000

function consumer(retention: RetentionSection | undefined, changes: Partial<ConsumerContract> = {}) {
  return defineConsumer({
    name: 'remembering',
    owner: 'tests',
    risk: 'money',
    source: { kind: 'memory' },
    identity: { id: (m: { id: string }) => m.id },
    handle() {},
    ...(retention && { retention }),
    ...changes,
  } as ConsumerContract)
}

describe('durations', () => {
  test('are numbers of milliseconds or texts with a unit', () => {
    const read = ['90s', '15m', '36h', '30d', '2w', '7y', '250ms', '1.5h', '30 d', 5_000, 0]
    assert.deepEqual(read.map(durationMs), [
      90_000,
      900_000,
      129_600_000,
      30 * day,
      14 * day,
      7 * 365 * day,
      250,
      5_400_000,
      30 * day,
      5_000,
      0,
    ])
  })

  test('applies old messages by default only to a projection, whose versions recognise a repeat', () => {
    const defaults = (['projection', 'money'] as const).map(risk => {
      const rows = projection<{ id: string; name: string }>({
        table: 'rows',
        key: { id: 'id' },
        version: { version: () => 1 },
        columns: { name: 'name' },
        gap: 'skips allowed',
      })
      return consumer({}, { risk, handle: undefined, effect: { apply: rows } } as never).retention!
        .behindHorizon
    })
    assert.deepEqual(defaults, ['apply', 'park'])
  })

  test('that cannot be parsed are refused', () => {
    for (const wrong of [
      '30',
      'd',
      '30 days',
      '-3d',
      '1e3d',
      '30D',
      '',
      -1,
      1.5,
      Number.NaN,
      '1001y',
      null,
      {},
    ])
      assert.equal(durationMs(wrong), null, JSON.stringify(wrong))
  })

  test('are shown in the largest unit that fits', () => {
    assert.deepEqual([30 * day, 365 * day, 90_000, 36 * 3_600_000, 250, 0, 10 * day + 1].map(durationText), [
      '30d',
      '1y',
      '90s',
      '36h',
      '250ms',
      '0ms',
      '10d',
    ])
  })
})

describe('the retention of a contract', () => {
  test('is none unless it has the section, and then by its risk', () => {
    assert.equal(consumer(undefined).retention, null)
    const byRisk = (
      ['money', 'regulatory', 'notification', 'projection', 'telemetry', 'low value'] as const
    ).map(risk => {
      const { markers, effects, behindHorizon, deadLetters } = consumer({}, { risk }).retention!
      return [markers / day, effects / day, behindHorizon, deadLetters]
    })
    assert.deepEqual(byRisk, [
      [2_555, 2_555, 'park', null],
      [3_650, 3_650, 'park', null],
      [90, 90, 'park', null],
      [30, 30, 'park', null],
      [14, 14, 'park', null],
      [7, 7, 'park', null],
    ])
  })

  const refusals: readonly [RetentionSection & Record<string, unknown>, RegExp][] = [
    [{ markers: 'soon' }, /retention\.markers: must be a number of milliseconds or a string such as/],
    [{ marker: '3d' } as never, /did you mean 'markers'/],
    [{ markers: '30d', businessKeys: '7d' }, /retention\.businessKeys: is 7d, shorter than markers \(30d\)/],
    [{ markers: '30d', effects: '29d' }, /retention\.effects/],
    [{ action: 'burn' as never }, /'delete', 'archive'/],
    [{ behindHorizon: 'drop' as never }, /'park', 'apply'/],
  ]
  for (const [section, text] of refusals) {
    test(`is refused as ${JSON.stringify(section)}`, () => {
      assert.throws(() => consumer(section), text)
    })
  }

  test('is in days only where the id contains the day, whole days may be removed, and there are not too many of them', () => {
    const identity = { id: () => '1', idTime: 'ulid' } as const
    const daily = { markers: '30d', partitions: 'daily' } as const
    assert.equal(consumer(daily, { identity }).retention!.partitions, 'daily')
    assert.equal(consumer({}, { identity }).retention!.partitions, null)
    const place = (section: RetentionSection, changes: Partial<ConsumerContract>, text: RegExp) =>
      assert.throws(() => consumer(section, changes), text)
    place(daily, {}, /retention\.partitions: needs ids that contain their day: set identity\.idTime/)
    place(
      { ...daily, action: 'archive' },
      { identity },
      /retention\.partitions: drops whole days.*retention\.action to 'delete'/,
    )
    place(
      { ...daily, markers: '101d' },
      { identity },
      /supports up to 100d, and markers are kept for 101d: set retention\.markers/,
    )
    place({ ...daily, partitions: 'hourly' as never }, { identity }, /retention\.partitions.*'daily'/)
    place(
      { partitions: 'daily', markers: '30d' },
      { identity, dedup: 'checkpoint', order: 'partition' },
      /retention\.partitions: has no effect with dedup 'checkpoint', which writes no markers: remove it/,
    )
  })

  test('is refused for markers where none are written', () => {
    assert.throws(
      () => consumer({ markers: '3d' }, { dedup: 'checkpoint', order: 'partition' }),
      /has no effect with dedup 'checkpoint'/,
    )
  })

  test('must be longer than any source of duplicates, and the refusal has the numbers', () => {
    const source = { ms: 14 * day, by: 'retention.ms and segment.ms of topic t' }
    assert.doesNotThrow(() => assertKeptLongEnough(consumer({ markers: '14d' }), source))
    assert.throws(
      () => assertKeptLongEnough(consumer({ markers: '7d' }), source),
      (error: OncewardError) =>
        error.code === 'retention_too_short' &&
        /after 7d.*topic t: 14d.*Nothing was started.*at least 14d/s.test(error.message),
    )
    for (const longer of [
      consumer({ markers: '7d' }, { replay: { window: '8d' } }),
      consumer({ markers: '7d', sourceKeeps: '8d' }),
    ])
      assert.throws(() => assertKeptLongEnough(longer, { ms: 0, by: 'x' }), /8d/)
    const slow = { failure: { attemptsMax: 100, delayMs: 3_600_000, delayMaxMs: 4 * 3_600_000 } }
    assert.throws(
      () => assertKeptLongEnough(consumer({ markers: '7d' }, slow), { ms: 0, by: 'x' }),
      /retries/,
    )
  })

  test("must be declared where the source's window is unknown", () => {
    const unknown = { unknown: 'queue q has no message TTL' }
    assert.throws(
      () => assertKeptLongEnough(consumer({ markers: '7d' }), unknown),
      /no message TTL.*sourceKeeps/s,
    )
    assert.doesNotThrow(() => assertKeptLongEnough(consumer({ markers: '7d', sourceKeeps: '3d' }), unknown))
    const endless = { ms: Number.POSITIVE_INFINITY, by: 'a topic' }
    assert.throws(
      () => assertKeptLongEnough(consumer({ markers: '7d' }), endless),
      /without limit.*sourceKeeps/s,
    )
    assert.doesNotThrow(() => assertKeptLongEnough(consumer({ markers: '7d', sourceKeeps: '3d' }), endless))
    const needed = neededRetention(consumer({ markers: '7d', sourceKeeps: '3d' }), {
      ms: 5 * day,
      by: 'a topic',
    })
    assert.equal(needed.ms, 5 * day, 'a declaration cannot make a broker forget')
  })

  test('is not required without markers', () => {
    const byPosition = {
      risk: 'telemetry',
      order: 'partition',
      dedup: 'checkpoint',
      settle: { when: 'with effect' },
    } as const
    const unknown = { unknown: 'nobody knows' }
    assert.doesNotThrow(() => assertKeptLongEnough(consumer({ notes: '30d' }, byPosition), unknown))
  })

  test("reads a stream's max-age", () => {
    assert.deepEqual(['7D', '12h', '1M', '30s', '2Y', 'x', '7d'].map(maxAgeMs), [
      7 * day,
      day / 2,
      30 * day,
      30_000,
      730 * day,
      null,
      null,
    ])
  })
})

describe("a message's own time", () => {
  test('is in a UUIDv7 and in a ULID', () => {
    assert.equal(idTimeMs('017f22e2-79b0-7cc3-98c4-dc0c0c07398f', 'uuidv7'), 1_645_557_742_000)
    assert.equal(idTimeMs('01ARZ3NDEKTSV4RRFFQ69G5FAV', 'ulid'), 1_469_922_850_259)
    for (const other of ['', 'x', '017f22e2-79b0-4cc3-98c4-dc0c0c07398f', '81ARZ3NDEKTSV4RRFFQ69G5FAV'])
      assert.deepEqual([idTimeMs(other, 'uuidv7'), idTimeMs(other, 'ulid')], [null, null])
  })

  test('is that of the id before that of the broker, or unknown', () => {
    const of = (id: string, properties: object, form?: 'uuidv7') =>
      ownTimeMs({ id, delivery: { properties } } as never, form)
    assert.equal(of('x', { timestampMs: 5 }), 5)
    assert.equal(of('017f22e2-79b0-7cc3-98c4-dc0c0c07398f', { timestampMs: 5 }, 'uuidv7'), 1_645_557_742_000)
    assert.equal(of('x', { timestampMs: 5 }, 'uuidv7'), 5)
    assert.equal(of('x', {}), null)
  })
})

describe('clocks that disagree', () => {
  const watch = (wallMs: number, clockMs: () => number): ClockWatch => ({
    wallMs: () => wallMs,
    clock: { nowMs: clockMs },
  })
  const now = 1_800_000_000_000

  test('forbid every removal when they are days apart', () => {
    for (const days of [-3, 3])
      assert.throws(
        () =>
          assertClocksAgree(
            watch(now, () => 0),
            now + days * day,
            'c',
          ),
        /3d (ahead of|behind)/,
      )
    assert.doesNotThrow(() =>
      assertClocksAgree(
        watch(now, () => 0),
        now + 1_000_000,
        'c',
      ),
    )
  })

  test('forbid it when both have jumped since the first reading', () => {
    let clockMs = 0
    let wallMs = now
    const both = { wallMs: () => wallMs, clock: { nowMs: () => clockMs } }
    assertClocksAgree(both, wallMs, 'c')
    clockMs += 7_200_000
    wallMs += 7_200_000
    assertClocksAgree(both, wallMs, 'c')
    wallMs += 400 * day
    assert.throws(() => assertClocksAgree(both, wallMs, 'c'), { code: 'clocks_disagree' })
  })
})

describe('the window of a contribution', () => {
  const counting = (sizeMs: number, latenessMs: number) => ({
    risk: 'telemetry' as const,
    handle: undefined as never,
    effect: {
      apply: contribution<{ id: string }>({
        facts: 'f',
        summary: 's',
        window: { sizeMs, latenessMs, late: 'stale' },
        at: () => 0,
        key: m => m.id,
        eventId: m => m.id,
      }) as never,
    },
  })

  test('and its tolerance for late events raise the default term of markers', () => {
    assert.equal(consumer({}, counting(day, day)).retention!.markers, 14 * day)
    assert.equal(consumer({}, counting(30 * day, 5 * day)).retention!.markers, 35 * day)
  })

  test('longer than the declared term of markers is refused at start, with the numbers', () => {
    const short = consumer({ markers: '20d', sourceKeeps: '1d' }, counting(30 * day, 5 * day))
    assert.equal(neededRetention(short, { unknown: 'not asked' }).ms, 35 * day)
    assert.throws(() => assertKeptLongEnough(short, { ms: day, by: 'the source' }), /late events: 35d/)
  })
})

describe('terms of tenants', () => {
  const tenants = (retention: object, more: object = {}) =>
    consumer({ markers: '60d', sourceKeeps: '20d', ...retention } as never, more as never)

  test('are in milliseconds, and the shortest is compared with what is needed', () => {
    const { retention } = tenants({ tenantSeparator: '/', tenants: { acme: '90d', trial: '30d' } })
    assert.deepEqual(
      [retention!.tenants, retention!.tenantSeparator],
      [{ acme: 90 * day, trial: 30 * day }, '/'],
    )
    assert.equal(tenants({}).retention!.tenants, null)
    const short = tenants({ tenantSeparator: '/', tenants: { trial: '10d' } })
    assert.throws(
      () => assertKeptLongEnough(short, { ms: day, by: 'the source' }),
      /would remove markers after 10d.*every term in retention\.tenants to at least 20d/,
    )
  })

  test('need a separator, names without it, and ids that begin with a tenant', () => {
    for (const [retention, wrong, more] of [
      [{ tenants: { acme: '90d' } }, /retention\.tenants.*tenantSeparator/],
      [{ tenantSeparator: '/', tenants: { 'a/b': '90d' } }, /contains the separator/],
      [{ tenantSeparator: ':', tenants: { sha256: '90d' } }, /not the name of a tenant/],
      [{ tenantSeparator: 'ab' }, /must be one of/],
      [{ tenantSeparator: '/', tenants: { acme: 'soon' } }, /must be a number of milliseconds/],
      [
        { tenantSeparator: '/' },
        /identity\.idTime/,
        { identity: { id: { property: 'messageId' }, idTime: 'ulid' } },
      ],
    ] as const)
      assert.throws(() => tenants(retention, more), wrong, JSON.stringify(retention))
  })
})
