import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type QueueOptions, queue } from 'onceward/rabbitmq'
import type { BindingState, ExchangeState, QueueState } from '../../src/drivers/rabbitmq/describe-broker.ts'
import { catalogue, contractRules } from '../../src/review/catalogue.ts'
import { check } from '../../src/review/check.ts'
import { deadLetterRoute, topicMatches } from '../../src/review/dead-letter-route.ts'
import type { Rule } from '../../src/review/rule.ts'
import { rulesOfTheCheck } from '../../src/review/rules/itself.ts'
import { kafkaRules } from '../../src/review/rules/kafka.ts'
import { memoryRules } from '../../src/review/rules/memory.ts'
import { kafkaOutletRules, rabbitOutletRules } from '../../src/review/rules/outlets.ts'
import { postgresRules } from '../../src/review/rules/postgres.ts'
import { rabbitRules } from '../../src/review/rules/rabbitmq.ts'
import { schemaRules } from '../../src/review/rules/schema.ts'
import { severalRules } from '../../src/review/rules/several.ts'
import { streamRules } from '../../src/review/rules/stream.ts'
import { transformRules } from '../../src/review/rules/transform.ts'
import type { Waiver } from '../../src/review/waiver.ts'
import { consumerWith, contractPairs, severalPairs, transformPairs, transformWith } from './contract-pairs.ts'
import {
  kafkaOutletPairs,
  kafkaPairs,
  memoryPairs,
  postgresPairs,
  rabbitOutletPairs,
  rabbitPairs,
  schemaPairs,
  streamPairs,
} from './live-pairs.ts'

const textsOf = (found: string | readonly string[] | null) =>
  found === null ? [] : typeof found === 'string' ? [found] : found

function pairUp<Subject>(
  rules: readonly Rule<Subject>[],
  pairs: Readonly<Record<string, { readonly bad: Subject; readonly good: Subject }>>,
): void {
  test('every rule has a contract with a finding and one without, and no pair is without a rule', () => {
    assert.deepEqual(Object.keys(pairs).sort(), rules.map(rule => rule.id).sort())
  })
  for (const rule of rules) {
    const pair = pairs[rule.id]
    if (pair === undefined) continue
    test(`${rule.id} ${rule.title}`, () => {
      const found = textsOf(rule.judge(pair.bad))
      assert.ok(found.length > 0, 'says nothing of the bad one')
      for (const text of found) assert.doesNotMatch(text, /undefined|NaN|\[object/)
      assert.deepEqual(textsOf(rule.judge(pair.good)), [], 'speaks of the good one')
    })
  }
}

describe('rules over a transform', () => {
  const built = Object.entries(transformPairs).map(
    ([id, { bad, good }]) => [id, { bad: transformWith(bad), good: transformWith(good) }] as const,
  )
  pairUp(transformRules, Object.fromEntries(built))

  test('and those of consumers find nothing in a complete transform', async () => {
    const options = { waivers: [], today: '2026-11-18' }
    const judge = async (transform: ReturnType<typeof transformWith>) =>
      (await check([{ file: 'a.ts', consumer: transform as never }], options)).findings.map(({ id }) => id)
    assert.deepEqual(await judge(transformWith()), [])
    const failure = { policies: { poison: { attemptsMax: 3 } } }
    assert.deepEqual(await judge(transformWith({ failure })), ['OW133', 'OW191'])
  })
})

describe('rules over a contract', () => {
  const built = Object.entries(contractPairs).map(
    ([id, { bad, good }]) => [id, { bad: consumerWith(bad), good: consumerWith(good) }] as const,
  )
  pairUp(contractRules, Object.fromEntries(built))

  test('find nothing in a complete contract', () => {
    const found = contractRules.flatMap(rule =>
      textsOf(rule.judge(consumerWith())).map(text => `${rule.id} ${text}`),
    )
    assert.deepEqual(found, [])
  })
})

describe('rules over several contracts', () => {
  test('every rule has a pair', () => {
    assert.deepEqual(Object.keys(severalPairs).sort(), severalRules.map(rule => rule.id).sort())
  })
  for (const rule of severalRules) {
    test(`${rule.id} ${rule.title}`, () => {
      const { bad, good } = severalPairs[rule.id]!
      assert.ok(rule.judge(bad.map(consumerWith)).length > 0)
      assert.deepEqual(rule.judge(good.map(consumerWith)), [])
    })
  }
})

describe('rules over RabbitMQ', () => {
  pairUp(rabbitRules, rabbitPairs)

  test('judge a queue that does not exist yet as the consumer will declare it', () => {
    const spoken = (options: QueueOptions) => {
      const subject = { ...rabbitPairs.OW201!.good, declaration: queue('q', options) }
      return rabbitRules.filter(rule => textsOf(rule.judge(subject)).length > 0).map(rule => rule.id)
    }
    assert.deepEqual(spoken({}), [])
    assert.deepEqual(spoken({ deadLetterExchange: 'dlx', deadLetterRoutingKey: 'dead' }), [])
    assert.deepEqual(spoken({ deadLetterExchange: 'dlx', deadLetterRoutingKey: 'deed' }), ['OW207'])
    assert.deepEqual(spoken({ deadLetterExchange: 'dxl' }), ['OW207'])
    const bind = [{ exchange: 'dlx', routingKey: 'paid' }]
    assert.deepEqual(spoken({ deadLetterExchange: 'dlx', bind }), ['OW209'], 'back to itself')
    assert.deepEqual(spoken({ arguments: { 'x-message-ttl': 1_000 } }), ['OW211'])
  })
})
describe('rules over streams', () => pairUp(streamRules, streamPairs))
describe('rules over Kafka', () => pairUp(kafkaRules, kafkaPairs))
describe('rules over what is published to RabbitMQ', () => pairUp(rabbitOutletRules, rabbitOutletPairs))
describe('rules over what is written to Kafka', () => pairUp(kafkaOutletRules, kafkaOutletPairs))
describe('rules over PostgreSQL', () => pairUp(postgresRules, postgresPairs))
describe('rules over a schema registry', () => pairUp(schemaRules, schemaPairs))
describe('rules over memory', () => pairUp(memoryRules, memoryPairs))

describe('ids', () => {
  test('are unique and of one form', () => {
    const ids = catalogue.map(rule => rule.id)
    assert.deepEqual([...new Set(ids)], ids)
    assert.deepEqual(
      ids.filter(id => !/^OW[1-9]\d\d$/.test(id)),
      [],
    )
  })
})

describe('the check itself', () => {
  const today = '2026-11-15'
  const good = { file: 'clean.ts', consumer: consumerWith() }
  const bad = { file: 'bad.ts', consumer: consumerWith(contractPairs.OW103!.bad) }
  const waiver = (changes: Partial<Waiver>): Waiver => ({
    rule: 'OW103',
    reason: 'the producer changes in March',
    owner: 'payments',
    until: '2026-11-15',
    ...changes,
  })
  const idsOf = async (loaded: Parameters<typeof check>[0], waivers: readonly Waiver[] = []) => {
    const { findings } = await check(loaded, { waivers, today })
    return findings.map(one => `${one.id}${one.waived === null ? '' : ' waived'}`).sort()
  }

  const pairs: Record<string, () => Promise<void>> = {
    OW100: async () => {
      assert.deepEqual(await idsOf([{ file: 'x.ts', problems: [{ text: 'name: is wrong' }] }]), ['OW100'])
      assert.deepEqual(await idsOf([good]), [])
    },
    OW911: async () => {
      assert.deepEqual(await idsOf([bad], [waiver({ until: '2026-11-14' })]), ['OW103', 'OW911'])
      assert.deepEqual(await idsOf([bad], [waiver({ until: 'soon' })]), ['OW103', 'OW911'])
      assert.deepEqual(await idsOf([bad], [waiver({})]), ['OW103 waived'])
    },
    OW912: async () => {
      assert.deepEqual(await idsOf([good], [waiver({})]), ['OW912'])
      assert.deepEqual(await idsOf([bad], [waiver({ consumer: 'another' })]), ['OW103', 'OW912'])
      assert.deepEqual(await idsOf([bad], [waiver({ consumer: 'clean' })]), ['OW103 waived'])
      assert.deepEqual(await idsOf([good], [waiver({ rule: 'OW402' })]), [], 'its rule was not looked at')
    },
    OW913: async () => {
      assert.deepEqual(await idsOf([good], [waiver({ rule: 'OW999' })]), ['OW913'])
      const refused = { file: 'x.ts', problems: [{ text: 'name: is wrong' }] }
      assert.deepEqual(await idsOf([refused], [waiver({ rule: 'OW100' })]), ['OW100', 'OW913'])
      assert.deepEqual(await idsOf([bad], [waiver({})]), ['OW103 waived'])
    },
  }
  /** Shown on real servers. */
  const elsewhere = ['OW901', 'OW902']
  test('every rule has a pair here or on real servers', () => {
    assert.deepEqual(
      [...Object.keys(pairs), ...elsewhere].sort(),
      rulesOfTheCheck.map(rule => rule.id).sort(),
    )
  })
  for (const [id, pair] of Object.entries(pairs)) test(id, pair)
})

describe('where dead letters go', () => {
  const from: QueueState = {
    name: 'q',
    type: 'quorum',
    durable: true,
    transient: false,
    arguments: { 'x-dead-letter-exchange': 'dlx' },
    policy: {},
  }
  const to = (source: string, destination: string, routingKey: string, toExchange = false) => ({
    source,
    destination,
    routingKey,
    toExchange,
  })
  const exchange = (type: string, alternate: string | null = null) => ({ type, alternate })
  const names = new Set(['q', 'dead', 'rest'])
  const own = [to('', 'q', 'q'), to('orders', 'q', 'paid')]
  const route = (exchanges: [string, ExchangeState][], bindings: BindingState[]) =>
    deadLetterRoute(from, { exchanges: new Map(exchanges), bindings: [...own, ...bindings] }, names)

  test('without a key of their own they keep the one they came with', () => {
    const bound = route([['dlx', exchange('direct')]], [to('dlx', 'dead', 'paid')])
    assert.deepEqual(bound?.queues, ['dead'])
    assert.equal(route([['dlx', exchange('direct')]], [to('dlx', 'dead', 'q')])?.lostWith, 'paid')
  })

  test('by way of other exchanges, an alternate one, and not in circles', () => {
    const exchanges: [string, ExchangeState][] = [
      ['dlx', exchange('fanout')],
      ['next', exchange('topic', 'last')],
      ['last', exchange('fanout')],
    ]
    const circle = [to('dlx', 'next', '', true), to('next', 'dlx', '#', true)]
    assert.equal(route(exchanges, circle)?.queues.length, 0)
    const last = to('last', 'rest', '')
    assert.deepEqual(route(exchanges, [to('dlx', 'next', '', true), last])?.queues, ['rest'])
    assert.deepEqual(
      route(exchanges, [...circle, last])?.queues,
      [],
      'a binding that takes leaves nothing to the alternate one, wherever it leads',
    )
  })

  test('a direct exchange knows no patterns: bound with # it takes nothing', () => {
    const exchanges = new Map([
      ['events', exchange('topic')],
      ['dlx', exchange('direct')],
    ])
    const bindings = [to('events', 'q', '#'), to('dlx', 'dead', '#')]
    assert.equal(deadLetterRoute(from, { exchanges, bindings }, names)?.lostWith, '#')
  })

  test('a message returned by a retry queue has the name of the queue as its key', () => {
    const exchanges = new Map([['dlx', exchange('direct')]])
    const topology = { exchanges, bindings: [...own, to('dlx', 'dead', 'paid')] }
    assert.equal(deadLetterRoute(from, topology, names)?.lostWith, null)
    assert.equal(deadLetterRoute(from, topology, names, true)?.lostWith, 'q')
  })

  test('a queue bound by a pattern, or to every key, needs bindings that cover all of it', () => {
    const lostWith = (source: ExchangeState, key: string, taken: BindingState[]) => {
      const exchanges = new Map([
        ['events', source],
        ['dlx', exchange('topic')],
      ])
      return deadLetterRoute(from, { exchanges, bindings: [to('events', 'q', key), ...taken] }, names)
        ?.lostWith
    }
    const narrow = [to('dlx', 'dead', 'orders.*')]
    const wide = [to('dlx', 'dead', 'orders.#')]
    assert.equal(lostWith(exchange('topic'), 'orders.#', narrow), 'orders.#')
    assert.equal(lostWith(exchange('topic'), 'orders.#', wide), null)
    assert.equal(lostWith(exchange('topic'), 'orders.*', wide), null)
    assert.equal(lostWith(exchange('fanout'), 'orders.#', wide), '#')
    assert.equal(lostWith(exchange('fanout'), '', [to('dlx', 'dead', '#')]), null)
  })
})

test('keys match topic patterns as RabbitMQ matches them', () => {
  const matches = (pattern: string, key: string) => topicMatches(pattern.split('.'), key.split('.'))
  assert.ok(
    matches('#', 'a.b.c') && matches('a.#', 'a') && matches('a.*.c', 'a.b.c') && matches('#.c', 'a.b.c'),
  )
  assert.ok(
    !matches('a.*', 'a') && !matches('a.*', 'a.b.c') && !matches('a.b', 'a.c') && !matches('*', 'a.b'),
  )
})
