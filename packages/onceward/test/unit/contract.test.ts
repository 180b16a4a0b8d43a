import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { z } from 'zod'
import type { ConsumerContract } from '../../src/contract/contract.ts'
import type { ContractProblem } from '../../src/contract/contract-problems.ts'
import { defineConsumer } from '../../src/contract/define-consumer.ts'
import { OncewardError } from '../../src/errors.ts'

type Contract = ConsumerContract<{ id: string }, unknown>

const valid: Contract = {
  name: 'payment_capture',
  owner: 'payments',
  risk: 'money',
  source: { kind: 'memory' },
  identity: { id: m => m.id },
  handle() {},
}

function refusal(changes: object): OncewardError {
  try {
    defineConsumer({ ...valid, ...changes })
  } catch (error) {
    assert.ok(error instanceof OncewardError)
    return error
  }
  return assert.fail('the contract was accepted')
}

const problemsOf = (error: OncewardError) => error.details.problems as readonly ContractProblem[]
const handleBatch = async () => {}
const target = { url: 'https://gateway.example/' }

interface Refusal {
  readonly what: string
  readonly changes: object
  readonly place: string
  readonly text: RegExp
}

const refusals: readonly Refusal[] = [
  { what: 'a name in capitals', changes: { name: 'Payment' }, place: 'name', text: /lower case/ },
  { what: 'a name of 49 characters', changes: { name: 'a'.repeat(49) }, place: 'name', text: /\{0,47\}/ },
  { what: 'a name that is SQL', changes: { name: 'x"; drop' }, place: 'name', text: /must match/ },
  { what: 'no owner', changes: { owner: ' ' }, place: 'owner', text: /team/ },
  { what: 'an unknown risk', changes: { risk: 'high' }, place: 'risk', text: /'money', 'regulatory'/ },
  { what: 'generation 0', changes: { generation: 0 }, place: 'generation', text: /from 1/ },
  { what: 'no source', changes: { source: undefined }, place: 'source', text: /queue\(/ },
  {
    what: 'tls: true beside an address of RabbitMQ',
    changes: { source: { kind: 'rabbitmq', queue: 'q', tls: true } },
    place: 'source.tls',
    text: /amqps:/,
  },
  {
    what: 'an unknown order',
    changes: { order: 'total' },
    place: 'order',
    text: /'none', 'key', 'partition'/,
  },
  {
    what: 'checkpoint dedup without partition order',
    changes: { dedup: 'checkpoint', order: 'none' },
    place: 'dedup',
    text: /order 'partition'/,
  },
  {
    what: 'checkpoint dedup settled after the effect',
    changes: { dedup: 'checkpoint', order: 'partition', settle: { when: 'after effect' } },
    place: 'settle.when',
    text: /only the position is recorded/,
  },
  {
    what: 'checkpoint dedup with business keys',
    changes: {
      dedup: 'checkpoint',
      order: 'partition',
      identity: { ...valid.identity, businessKey: () => 'k' },
    },
    place: 'identity.businessKey',
    text: /marker/,
  },
  {
    what: 'at most once without a reason',
    changes: { risk: 'telemetry', settle: { when: 'before effect' } },
    place: 'settle.lossAcceptable',
    text: /why/,
  },
  {
    what: 'at most once for money',
    changes: { settle: { when: 'before effect', lossAcceptable: 'it is not' } },
    place: 'settle.when',
    text: /'money' forbids/,
  },
  {
    what: 'at most once tried again',
    changes: {
      risk: 'telemetry',
      settle: { when: 'before effect', lossAcceptable: 'samples' },
      failure: { attemptsMax: 3 },
    },
    place: 'failure.attemptsMax',
    text: /must be 1/,
  },
  {
    what: 'a reason for losing what is not lost',
    changes: { settle: { lossAcceptable: 'why not' } },
    place: 'settle.lossAcceptable',
    text: /no messages are lost/,
  },
  {
    what: 'a failure that would be dropped',
    changes: { failure: { policies: { transient: { terminal: 'ignored' } } } },
    place: 'failure.policies.transient.terminal',
    text: /would drop the message/,
  },
  {
    what: 'stopping a lane there is not',
    changes: { failure: { exhausted: 'stop' } },
    place: 'failure.exhausted',
    text: /order 'key'/,
  },
  { what: 'no handler', changes: { handle: undefined }, place: 'handle', text: /exactly one/ },
  { what: 'two handlers', changes: { handleBatch }, place: 'handle', text: /exactly one/ },
  { what: 'a handler that is no function', changes: { handle: 'later' }, place: 'handle', text: /function/ },
  { what: 'no identity', changes: { identity: undefined }, place: 'identity', text: /message id/ },
  {
    what: 'no message id',
    changes: { identity: {} },
    place: 'identity.id',
    text: /no duplicate can be recognised/,
  },
  {
    what: 'an id that is a plain name',
    changes: { identity: { id: 'messageId' } },
    place: 'identity.id',
    text: /function/,
  },
  {
    what: 'a property no broker has',
    changes: { identity: { id: { property: 'messageID' } } },
    place: 'identity.id',
    text: /messageId/,
  },
  {
    what: 'key order without a key',
    changes: { order: 'key' },
    place: 'identity.orderKey',
    text: /order 'key' needs it/,
  },
  {
    what: 'a business digest without a key',
    changes: { identity: { id: valid.identity.id, businessDigest: () => 1 } },
    place: 'identity.businessDigest',
    text: /has no effect/,
  },
  {
    what: 'a message that is no schema',
    changes: { message: 'json' },
    place: 'message',
    text: /Standard Schema/,
  },
  {
    what: 'a limit of zero',
    changes: { message: { limits: { bytesMax: 0 } } },
    place: 'message.limits.bytesMax',
    text: /from 1/,
  },
  {
    what: 'limits that are no object',
    changes: { message: { limits: 5 } },
    place: 'message.limits',
    text: /object/,
  },
  {
    what: 'digest headers that are no list',
    changes: { message: { digestHeaders: 'tenant' } },
    place: 'message.digestHeaders',
    text: /list/,
  },
  {
    what: 'masked members that are no list',
    changes: { message: { maskedMembers: 'customer.iban' } },
    place: 'message.maskedMembers',
    text: /list of members/,
  },
  {
    what: 'a declared effect that nobody made',
    changes: { handle: undefined, effect: { apply: { table: 'case_view' } } },
    place: 'effect.apply',
    text: /projection/,
  },
  {
    what: 'a handler beside a declared effect',
    changes: {
      effect: { apply: { kind: 'test', problems: () => [], verify: async () => {}, apply: async () => {} } },
    },
    place: 'handle',
    text: /exactly one/,
  },
  {
    what: 'what a declared effect finds wrong',
    changes: {
      handle: undefined,
      effect: {
        apply: {
          kind: 'test',
          problems: () => [{ place: 'gap.deadlineMs', text: 'is missing' }],
          verify: async () => {},
          apply: async () => {},
        },
      },
    },
    place: 'effect.apply.gap.deadlineMs',
    text: /missing/,
  },
  {
    what: 'a target without an address',
    changes: { effect: { external: { gateway: {} } } },
    place: 'effect.external.gateway.url',
    text: /http/,
  },
  {
    what: 'a target that is a file',
    changes: { effect: { external: { gateway: { url: 'file:///etc/passwd' } } } },
    place: 'effect.external.gateway.url',
    text: /http/,
  },
  {
    what: 'a target with an odd method',
    changes: { effect: { external: { gateway: { ...target, method: 'GET' } } } },
    place: 'effect.external.gateway.method',
    text: /'POST'/,
  },
  {
    what: 'a negative timeout',
    changes: { effect: { external: { gateway: { ...target, timeoutMs: -1 } } } },
    place: 'effect.external.gateway.timeoutMs',
    text: /whole number/,
  },
  {
    what: 'no attempts at all',
    changes: { failure: { attemptsMax: 0 } },
    place: 'failure.attemptsMax',
    text: /from 1 to 1000/,
  },
  {
    what: 'a fraction of a delay',
    changes: { failure: { delayMs: 0.5 } },
    place: 'failure.delayMs',
    text: /whole number/,
  },
  {
    what: 'an unknown failure mode',
    changes: { failure: { mode: 'drop' } },
    place: 'failure.mode',
    text: /'block'/,
  },
  {
    what: 'an unknown failure class',
    changes: { failure: { classes: { E: 'bad' } } },
    place: 'failure.classes.E',
    text: /'transient'/,
  },
  {
    what: 'a dead-letter queue without a name',
    changes: { failure: { deadLetter: '' } },
    place: 'failure.deadLetter',
    text: /queue/,
  },
  { what: 'a batch of none', changes: { batch: { sizeMax: 0 } }, place: 'batch.sizeMax', text: /from 1/ },
  {
    what: 'too many deliveries',
    changes: { batch: { deliveriesMax: 70_000 } },
    place: 'batch.deliveriesMax',
    text: /65535/,
  },
  { what: 'a batch that is a number', changes: { batch: 5 }, place: 'batch', text: /object/ },
]

const typos: readonly [changes: object, place: string, suggestion: string][] = [
  [{ onwer: 'x' }, 'onwer', 'owner'],
  [
    { identity: { id: valid.identity.id, bussinessKey: valid.identity.id } },
    'identity.bussinessKey',
    'businessKey',
  ],
  [{ message: { limit: {} } }, 'message.limit', 'limits'],
  [{ message: { limits: { byteMax: 1 } } }, 'message.limits.byteMax', 'bytesMax'],
  [{ effect: { externals: {} } }, 'effect.externals', 'external'],
  [
    { effect: { external: { gateway: { ...target, timeout: 5 } } } },
    'effect.external.gateway.timeout',
    'timeoutMs',
  ],
  [{ failure: { attemptMax: 3 } }, 'failure.attemptMax', 'attemptsMax'],
  [{ batch: { sizemax: 3 } }, 'batch.sizemax', 'sizeMax'],
]

describe('a contract is refused', () => {
  for (const { what, changes, place, text } of refusals) {
    test(`with ${what}`, () => {
      const error = refusal(changes)
      assert.equal(error.code, 'contract_invalid')
      const problem = problemsOf(error).find(one => one.place === place)
      assert.ok(problem, `no problem at ${place}: ${error.message}`)
      assert.match(problem.text, text)
      assert.match(error.message, /Nothing was started/)
    })
  }

  for (const [changes, place, suggestion] of typos) {
    test(`with the unknown key ${place}, suggesting ${suggestion}`, () => {
      const problem = problemsOf(refusal(changes)).find(one => one.place === place)
      assert.match(problem?.text ?? '', new RegExp(`did you mean '${suggestion}'`))
    })
  }

  test('with all its problems at once', () => {
    const error = refusal({
      name: 'X',
      owner: '',
      risk: 'none',
      batch: { sizeMax: 0, size: 1 },
      replay: { modes: ['all'] },
    })
    const places = problemsOf(error).map(one => one.place)
    assert.deepEqual(places.sort(), ['batch.size', 'batch.sizeMax', 'name', 'owner', 'replay.modes', 'risk'])
    for (const place of places) assert.ok(error.message.includes(place))
  })

  for (const nothing of [null, undefined, 7, 'contract', []]) {
    test(`when it is ${JSON.stringify(nothing) ?? 'undefined'}`, () => {
      assert.throws(() => defineConsumer(nothing as never), { code: 'contract_invalid' })
    })
  }
})

describe('a contract that is accepted', () => {
  test('has its defaults applied', () => {
    const consumer = defineConsumer(valid)
    assert.equal(consumer.generation, 1)
    assert.equal(consumer.order, 'none')
    const { rules, ...failure } = consumer.failure
    assert.deepEqual(failure, {
      attemptsMax: 5,
      mode: 'block',
      exhausted: 'parked',
      jitter: true,
      classes: {},
      breaker: { failuresMax: 5, pauseMs: 1_000, pauseMaxMs: 60_000 },
      brake: { messagesMin: 20, shareMin: 0.25, pauseMs: 1_000, pauseMaxMs: 60_000 },
      unreadable: 'quarantined',
      unexpected: 'parked',
      rejected: 'dead-lettered',
      deadLetter: null,
      deadLetterOwner: 'payments',
      parking: { perKeyMax: 10_000, totalMax: 1_000_000 },
      redelivery: null,
      retryLevelsMs: [],
    })
    assert.deepEqual(rules.transient, {
      attemptsMax: 5,
      retried: true,
      sameMax: null,
      ownBudget: false,
      delayMs: 1_000,
      delayMaxMs: 60_000,
      terminal: 'parked',
      breaker: true,
    })
    assert.deepEqual(consumer.batch, {
      sizeMax: 500,
      inFlightMax: 2,
      deliveriesMax: 2_000,
      bytesMax: 67_108_864,
      handlerTimeoutMs: 10_000,
    })
    assert.equal(
      defineConsumer({ ...valid, risk: 'projection', source: { kind: 'kafka' } }).batch.deliveriesMax,
      3_000,
    )
    assert.equal(consumer.message.codec.name, 'json')
    assert.equal(consumer.message.limits.bytesMax, 1_048_576)
  })

  test('keeps a default where a value is given as undefined', () => {
    const consumer = defineConsumer({
      ...valid,
      failure: { attemptsMax: undefined },
      batch: { sizeMax: undefined },
      message: { limits: { bytesMax: undefined } },
    } as never)
    assert.equal(consumer.failure.attemptsMax, 5)
    assert.equal(consumer.batch.sizeMax, 500)
    assert.equal(consumer.message.limits.bytesMax, 1_048_576)
  })

  test('takes any Standard Schema, bare or in a section', () => {
    const schema = z.object({ id: z.string() })
    assert.equal(defineConsumer({ ...valid, message: schema }).message.schema, schema)
    assert.equal(defineConsumer({ ...valid, message: { schema } }).message.schema, schema)
  })

  test('is frozen, its sections too', () => {
    const consumer = defineConsumer(valid)
    for (const part of [
      consumer,
      consumer.failure,
      consumer.batch,
      consumer.message,
      consumer.message.limits,
    ]) {
      assert.ok(Object.isFrozen(part))
    }
  })
})
