import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defineConsumer } from 'onceward'
import { file } from 'onceward/file'
import { topic } from 'onceward/kafka'
import { postgresQueue } from 'onceward/postgres'
import { queue } from 'onceward/rabbitmq'
import { stream } from 'onceward/rabbitmq-stream'
import type { Consumer, ConsumerContract, SourceDeclaration } from '../../src/index.ts'
import { contractPage } from '../../src/review/page/contract-page.ts'
import type { Often } from '../../src/review/page/promise.ts'

type Message = { id: string; key: string; version: number }
const sources: Record<string, { source: SourceDeclaration; log: boolean; assumes: RegExp }> = {
  rabbitmq: { source: queue('q'), log: false, assumes: /wait for confirms/ },
  postgres: {
    source: postgresQueue('q'),
    log: false,
    assumes: /in the transaction of their change/,
  },
  kafka: { source: topic('t', { start: 'earliest' }), log: true, assumes: /acks=all/ },
  'rabbitmq-stream': { source: stream('s', { start: 'first' }), log: true, assumes: /wait for confirms/ },
  file: { source: file('events/*.jsonl'), log: true, assumes: /only append/ },
}
const http = { url: 'https://pay.example/' }
const handler = { handle() {} }
/**
 * What a reader of the matrix expects, written down apart from the code: [after or with the effect, before
 * it].
 */
const effects: Record<
  string,
  { parts: object; sink: string; often: readonly [Often, Often | null]; loss?: RegExp }
> = {
  'a handler': { parts: handler, sink: 'database', often: ['effectively once', 'at most once'] },
  'a handler that knows messages by position': {
    parts: { ...handler, identity: { id: 'position' } },
    sink: 'database',
    often: ['once per record', 'at most once'],
  },
  'a call with a key': {
    parts: { ...handler, effect: { external: { pay: { ...http, policy: 'keyed' } } } },
    sink: 'external',
    often: ['effectively once', 'at most once'],
  },
  'a call that is asked about first': {
    parts: {
      ...handler,
      effect: { external: { pay: { ...http, policy: 'query first', query: async () => 'unknown' } } },
    },
    sink: 'external',
    often: ['effectively once', 'at most once'],
  },
  'a call without a key, never repeated': {
    parts: {
      ...handler,
      effect: { external: { pay: { ...http, keyHeader: null, policy: 'at most once' } } },
    },
    sink: 'external',
    often: ['at most once', 'at most once'],
  },
  'a call people decide about': {
    parts: { ...handler, effect: { external: { pay: { ...http, policy: 'manual' } } } },
    sink: 'external',
    often: ['at most once', 'at most once'],
  },
  'a mail': {
    parts: {
      ...handler,
      effect: {
        external: {
          mail: { kind: 'email', host: 'mail.example', from: 'a@b.example', policy: 'at most once' },
        },
      },
    },
    sink: 'external',
    often: ['at most once', 'at most once'],
  },
  'a message to Kafka': {
    parts: { ...handler, effect: { publish: { out: { broker: 'kafka', topic: 'out' } } } },
    sink: 'publish',
    often: ['at least once, under one id', 'not certain'],
  },
  'a message to RabbitMQ': {
    parts: { ...handler, effect: { publish: { out: { broker: 'rabbitmq', queue: 'out' } } } },
    sink: 'publish',
    often: ['at least once, under one id', 'not certain'],
  },
  'a row for a connector': {
    parts: { ...handler, effect: { publish: { out: { broker: 'cdc', topic: 'out' } } } },
    sink: 'publish',
    often: ['at least once, under one id', 'not certain'],
  },
}
const modes = ['after effect', 'with effect', 'before effect'] as const

function pageOf(source: SourceDeclaration, parts: object, settle: object | undefined) {
  const contract = {
    name: 'orders',
    owner: 'shop',
    risk: 'low value',
    source,
    identity: { id: (m: Message) => m.id },
    ...(settle && { settle }),
    ...parts,
  } as unknown as ConsumerContract<Message>
  return contractPage(defineConsumer<Message>(contract) as unknown as Consumer)
}

describe('what is promised', () => {
  for (const [kind, { source, log, assumes }] of Object.entries(sources))
    for (const when of modes) {
      if (when === 'with effect' && !log) continue
      const settle = when === 'before effect' ? { when, lossAcceptable: 'only a hint' } : { when }
      test(`from ${kind}, settled ${when}: of each effect what the matrix says`, () => {
        for (const [what, { parts, sink, often }] of Object.entries(effects)) {
          if ('identity' in parts && !log) continue
          const page = pageOf(source, parts, settle)
          const found = page.promise.find(one => one.sink === sink)!
          assert.equal(found.often, often[when === 'before effect' ? 1 : 0], what)
          assert.match(page.assumptions.join('\n'), assumes)
          const [target] = page.sections.filter(({ title }) => title === 'Delivery target')
          assert.match(target!.text, when === 'before effect' ? /^at-most-once/ : /^at-least-once/)
          assert.ok(target!.text.includes(found.often))
          if (when === 'before effect') assert.match(found.text, /lost/)
        }
      })
    }

  test('by position alone is described as once per record', () => {
    const { source } = sources.kafka!
    const checkpoint = pageOf(source, { ...handler, dedup: 'checkpoint', order: 'partition' }, undefined)
    assert.equal(checkpoint.promise[0]!.often, 'once per record')
    assert.match(checkpoint.promise[0]!.text, /applied twice/)
  })

  test('without a business key only the id identifies an intent, and the page says so', () => {
    const { source } = sources.postgres!
    assert.match(
      pageOf(source, handler, undefined).promise[0]!.assumes.join(),
      /another id is another intent/,
    )
    const keyed = { ...handler, identity: { id: (m: Message) => m.id, businessKey: (m: Message) => m.key } }
    const [database] = pageOf(source, keyed, undefined).promise
    assert.doesNotMatch(database!.assumes.join(), /another id/)
    assert.match(database!.text, /and per business key/)
  })

  test("to Kafka is not Kafka's exactly-once, and the page names the alternative", () => {
    const [, published] = pageOf(
      sources.kafka!.source,
      effects['a message to Kafka']!.parts,
      undefined,
    ).promise
    assert.match(published!.text, /not a Kafka transaction .* within Kafka needs a transform/)
  })

  test('of a projection: one effect per key and version', () => {
    const page = contractPage({
      ...(defineConsumer({
        name: 'orders',
        owner: 'shop',
        risk: 'projection',
        source: sources.kafka!.source,
        identity: { id: (m: Message) => m.id },
        ...handler,
      }) as unknown as Consumer),
      dedup: 'version',
      effect: { apply: { kind: 'projection', remembers: true, tables: ['case_view'] } as never },
    })
    assert.equal(page.promise[0]!.often, 'effectively once')
    assert.match(page.promise[0]!.text, /per key and version/)
  })
})
