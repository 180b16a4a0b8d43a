import {
  audit,
  type ConsumerContract,
  defineConsumer,
  defineTransform,
  type TransformContract,
} from 'onceward'
import { topic } from 'onceward/kafka'
import { postgresQueue } from 'onceward/postgres'
import { queue } from 'onceward/rabbitmq'
import { stream } from 'onceward/rabbitmq-stream'
import type { Consumer } from '../../src/contract/define-consumer.ts'

type Changes = Partial<ConsumerContract>

const anything = {
  '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
} as const

/** A contract of which no rule has anything to say. */
const clean: ConsumerContract = {
  name: 'clean',
  owner: 'payments',
  risk: 'money',
  source: queue('payments.q'),
  message: anything as never,
  identity: {
    id: { property: 'messageId' },
    businessKey: () => 'order 1',
    businessDigest: () => 1,
    correlationId: { property: 'correlationId' },
  },
  retention: { sourceKeeps: '14d' },
  replay: { window: '30d' },
  handlerVersion: '1.4.2',
  handle() {},
}

export const consumerWith = (changes: Changes = {}): Consumer =>
  defineConsumer({ ...clean, ...changes }) as Consumer

const cleanTransform: TransformContract = {
  name: 'clean',
  owner: 'payments',
  risk: 'projection',
  source: topic('orders', { start: 'earliest', instance: 'one' }),
  message: anything as never,
  failure: { deadLetter: 'orders.dead' },
  handlerVersion: '1.4.2',
  to: ['paid'],
  map: () => [],
}

export const transformWith = (changes: Partial<TransformContract> = {}) =>
  defineTransform({ ...cleanTransform, ...changes })

export const transformPairs: Readonly<
  Record<string, { readonly bad: Partial<TransformContract>; readonly good: Partial<TransformContract> }>
> = {
  OW191: { bad: { failure: {} }, good: {} },
  OW192: { bad: { source: topic('orders', { start: 'earliest' }) }, good: {} },
}

const identity = clean.identity
const recording = (name: string, table: string): Changes => ({
  name,
  source: queue(name),
  handle: undefined as never,
  effect: { apply: audit({ table, eventId: () => 'e', columns: { what: () => 'w' } }) },
})
const target = { url: 'https://pay.example/charge', policy: 'keyed' } as const
const without = (...names: (keyof typeof identity)[]) =>
  Object.fromEntries(
    Object.entries(identity).filter(([name]) => !names.includes(name as never)),
  ) as typeof identity
const projected = { kind: 'projection', apply() {}, problems: () => [], verify: async () => {} } as never
const noHandler = { handle: undefined as never }

/** For each rule over one contract: one it speaks of, and one of which it says nothing. */
export const contractPairs: Record<string, { bad: Changes; good: Changes }> = {
  OW101: {
    bad: {
      source: topic('t'),
      identity: { ...without('businessKey', 'businessDigest'), id: 'position' },
    },
    good: { source: topic('t'), identity: { ...identity, id: 'position' } },
  },
  OW102: {
    bad: { risk: 'telemetry', source: topic('t'), identity: { id: 'position' } },
    good: { risk: 'telemetry', source: topic('t'), identity: { id: () => '1' } },
  },
  OW114: {
    bad: { identity: { ...without('businessKey', 'businessDigest'), id: 'content' } },
    good: { identity: { ...identity, id: 'content' } },
  },
  OW115: {
    bad: { risk: 'telemetry', identity: { ...identity, id: 'content' } },
    good: { risk: 'telemetry' },
  },
  OW103: {
    bad: { identity: { ...identity, id: { header: 'x-delivery-count' } } },
    good: { identity: { ...identity, id: { header: 'event-id' } } },
  },
  OW104: {
    bad: { identity: { id: () => '1' } },
    good: { identity: { id: () => '1', businessKey: () => 'k' } },
  },
  OW105: {
    bad: { identity: { id: () => '1', businessKey: () => 'k' } },
    good: { identity: { id: () => '1', businessKey: () => 'k', businessDigest: () => 1 } },
  },
  OW106: {
    bad: { identity: { ...identity, businessKey: { property: 'messageId' } } },
    good: { identity: { ...identity, businessKey: { header: 'order' } } },
  },
  OW111: {
    bad: { order: 'key', identity: { ...identity, orderKey: () => 'k' } },
    good: {
      order: 'key',
      identity: { ...identity, orderKey: () => 'k' },
      source: queue('q', { singleActiveConsumer: true }),
    },
  },
  OW112: {
    bad: { identity: { ...identity, aggregateVersion: () => 1 } },
    good: {
      identity: { ...identity, aggregateVersion: () => 1 },
      effect: { apply: projected },
      ...noHandler,
    },
  },
  OW113: {
    bad: { risk: 'telemetry', order: 'partition', source: stream('s') },
    good: { risk: 'telemetry', order: 'partition', source: stream('s', { superStream: true }) },
  },
  OW121: {
    bad: { risk: 'projection', settle: { when: 'before effect', lossAcceptable: 'sampled' } },
    good: { risk: 'telemetry', settle: { when: 'before effect', lossAcceptable: 'sampled' } },
  },
  OW122: {
    bad: { risk: 'notification' },
    good: { risk: 'notification', effect: { external: { mail: target } } },
  },
  OW123: {
    bad: { effect: { external: { pay: { ...target, keyLifetimeMs: 60_000 } } } },
    good: { effect: { external: { pay: target } } },
  },
  OW124: {
    bad: { effect: { external: { pay: { url: target.url } } } },
    good: { effect: { external: { pay: target } } },
  },
  OW125: {
    bad: { effect: { publish: { again: { broker: 'rabbitmq', queue: 'payments.q' } } } },
    good: { effect: { publish: { next: { broker: 'rabbitmq', queue: 'captured.q' } } } },
  },
  OW131: {
    bad: { failure: { attemptsMax: 40 } },
    good: { failure: { attemptsMax: 40, mode: 'defer' } },
  },
  OW132: {
    bad: {
      order: 'key',
      identity: { ...identity, orderKey: () => 'k' },
      source: queue('q', { singleActiveConsumer: true }),
      failure: { exhausted: 'stop' },
    },
    good: { failure: { exhausted: 'dead-lettered' } },
  },
  OW133: {
    bad: { failure: { policies: { validation: { attemptsMax: 3 } } } },
    good: { failure: { policies: { transient: { attemptsMax: 3 } } } },
  },
  OW134: {
    bad: { failure: { jitter: false } },
    good: { failure: { jitter: true } },
  },
  OW135: { bad: { failure: { breaker: false } }, good: { failure: { breaker: { failuresMax: 9 } } } },
  OW136: {
    bad: { failure: { deadLetter: 'payments.q' } },
    good: { failure: { deadLetter: 'payments.dlq' } },
  },
  OW141: { bad: { message: undefined as never }, good: { message: undefined as never, risk: 'telemetry' } },
  OW142: {
    bad: { identity: { ...identity, schemaVersion: () => 1 } },
    good: {
      identity: { ...identity, schemaVersion: () => 1 },
      message: { schema: anything as never, versions: [1] },
    },
  },
  OW143: {
    bad: { identity: { ...identity, type: () => 'paid' } },
    good: {
      identity: { ...identity, type: () => 'paid' },
      message: { schema: anything as never, types: ['paid'] },
    },
  },
  OW144: {
    bad: { message: { schema: anything as never, limits: { bytesMax: 2_000 } }, batch: { bytesMax: 1_000 } },
    good: { message: { schema: anything as never, limits: { bytesMax: 500 } }, batch: { bytesMax: 1_000 } },
  },
  OW151: {
    bad: { batch: { handlerTimeoutMs: 20 * 60_000 }, failure: { mode: 'defer' } },
    good: { batch: { handlerTimeoutMs: 60_000 }, failure: { mode: 'defer' } },
  },
  OW152: {
    bad: { source: topic('t'), batch: { handlerTimeoutMs: 90_000 }, failure: { attemptsMax: 2 } },
    good: {
      source: topic('t', { rebalanceTimeoutMs: 120_000 }),
      batch: { handlerTimeoutMs: 90_000 },
      failure: { attemptsMax: 2 },
    },
  },
  OW161: {
    bad: { risk: 'projection', retention: undefined as never },
    good: { risk: 'projection', retention: {} },
  },
  OW162: {
    bad: { retention: { markers: '7d', sourceKeeps: '14d' }, replay: { window: '1d' } },
    good: { retention: { markers: '15d', sourceKeeps: '14d' }, replay: { window: '1d' } },
  },
  OW163: {
    bad: { source: postgresQueue('q', { url: 'postgres://elsewhere/queues' }), retention: {} },
    good: { source: postgresQueue('q'), retention: {} },
  },
  OW164: { bad: { retention: { behindHorizon: 'apply' } }, good: { retention: { behindHorizon: 'park' } } },
  OW165: { bad: { retention: { deadLetters: '3d' } }, good: { retention: { deadLetters: '30d' } } },
  OW166: {
    bad: { retention: undefined as never },
    good: { risk: 'telemetry', retention: undefined as never },
  },
  OW171: { bad: { replay: {} }, good: { replay: { modes: ['forensic'] } } },
  OW172: {
    bad: { replay: { window: '30d', modes: ['rebuild'] } },
    good: { replay: { window: '30d', modes: ['rebuild'], tables: ['payment'] } },
  },
  OW173: { bad: { handlerVersion: undefined as never }, good: { handlerVersion: '2' } },
  OW174: {
    bad: { identity: without('correlationId') },
    good: { risk: 'projection', identity: without('correlationId') },
  },
}

/** For each rule over all contracts. */
export const severalPairs: Record<string, { bad: readonly Changes[]; good: readonly Changes[] }> = {
  OW181: {
    bad: [{ source: queue('a') }, { source: queue('b') }],
    good: [{ source: queue('a') }, { source: queue('b'), generation: 2 }],
  },
  OW182: {
    bad: [
      { name: 'one', source: topic('t', { group: 'g' }) },
      { name: 'two', source: topic('t', { group: 'g' }) },
    ],
    good: [
      { name: 'one', source: topic('t') },
      { name: 'two', source: topic('t') },
    ],
  },
  OW183: {
    bad: [recording('one', 'trail'), recording('two', 'public.trail')],
    good: [recording('one', 'one.trail'), recording('two', 'two.trail')],
  },
}
