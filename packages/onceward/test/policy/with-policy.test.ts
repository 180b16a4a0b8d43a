import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { consumerParts, defineConsumer, OncewardError, withPolicy } from 'onceward'
import { queue } from 'onceward/rabbitmq'
import { contractProblems } from '../../src/contract/contract-problems.ts'
import { find, put } from '../../src/contract/policy/contract-path.ts'
import { readPolicy } from '../../src/contract/policy/read-policy.ts'
import { everyKey } from './samples.ts'

const policy = (text: string) => readPolicy(text, 'onceward.yaml')
const parts = (changes: object = {}) =>
  consumerParts<{ id: string }>({
    name: 'orders',
    source: queue('orders.q'),
    identity: { id: m => m.id, orderKey: m => m.id },
    handle() {},
    ...changes,
  })

function refused(make: () => unknown): string {
  try {
    make()
  } catch (error) {
    assert.ok(error instanceof OncewardError)
    assert.equal(error.code, 'contract_invalid')
    assert.match(error.message, /Nothing was started\.$/)
    return error.message
  }
  return assert.fail('nothing was refused')
}

describe('a contract and its policy file', () => {
  test('make one consumer, in the units of contracts', () => {
    const consumer = withPolicy(
      parts({ failure: { mode: 'defer' } }),
      policy(`consumers:
  orders:
    owner: shop
    risk: money
    order: key
    failure:
      retry: { maxAttempts: 3, initialDelay: 2s, backoff: exponential }
      deadLetter: orders.dead
    batch: { handlerTimeout: 1.5s, bytesMax: 10MiB }
    isolation: { mode: child, memoryMax: 0.5GiB }
    objectives: { lagMax: 1m }
    effect:
      external:
        gateway:
          url: https://pay.example/
          headers: { Authorization: "Bearer \${env:PAY_TOKEN}", X-Shop: ours }
        hook: { kind: webhook, url: https://hook.example/, secrets: { "2026": "\${env:HOOK}" } }
`),
    )
    assert.equal(consumer.owner, 'shop')
    assert.equal(consumer.order, 'key')
    assert.equal(consumer.failure.mode, 'defer')
    assert.equal(consumer.failure.attemptsMax, 3)
    assert.equal(consumer.failure.jitter, false)
    assert.equal(consumer.failure.rules.transient.delayMs, 2_000)
    assert.equal(consumer.failure.deadLetter, 'orders.dead')
    assert.equal(consumer.batch.handlerTimeoutMs, 1_500)
    assert.equal(consumer.batch.bytesMax, 10 * 1024 * 1024)
    assert.equal(consumer.isolation.memoryMaxMb, 512)
    assert.equal(consumer.objectives.lagMaxMs, 60_000)
    assert.deepEqual(consumer.effect?.external, {
      gateway: {
        url: 'https://pay.example/',
        headers: { Authorization: { env: 'PAY_TOKEN', prefix: 'Bearer ' }, 'X-Shop': 'ours' },
      },
      hook: { kind: 'webhook', url: 'https://hook.example/', secrets: { 2026: { env: 'HOOK' } } },
    })
  })

  test('a retry policy of operations is translated into contract options', () => {
    const retry = `{ maxAttempts: 4, initialDelay: 2s, maxDelay: 30s, backoff: exponential-jitter,
        retryable: [DATABASE_TIMEOUT, DEPENDENCY_UNAVAILABLE, RATE_LIMITED, SCHEMA_LATE],
        nonRetryable: [SCHEMA_INVALID, AUTHORIZATION_FAILED, UNKNOWN_EVENT_TYPE, HOPELESS] }`
    const file = `consumers:\n  orders: { owner: a, risk: money, failure: { retry: ${retry} } }\n`
    const { failure, declared } = withPolicy(parts(), policy(file))
    const { attemptsMax, delayMs, delayMaxMs } = failure.rules.transient
    assert.deepEqual([attemptsMax, delayMs, delayMaxMs, failure.jitter], [4, 2_000, 30_000, true])
    assert.deepEqual(failure.classes, {
      DATABASE_TIMEOUT: 'transient',
      DEPENDENCY_UNAVAILABLE: 'overload',
      RATE_LIMITED: 'rate limited',
      SCHEMA_LATE: 'transient',
      SCHEMA_INVALID: 'validation',
      AUTHORIZATION_FAILED: 'poison',
      UNKNOWN_EVENT_TYPE: 'poison',
      HOPELESS: 'poison',
    })
    for (const code of ['SCHEMA_INVALID', 'AUTHORIZATION_FAILED', 'UNKNOWN_EVENT_TYPE', 'HOPELESS'])
      assert.equal(failure.rules[failure.classes[code]!].attemptsMax, 1, `${code} is tried once`)
    for (const { terminal } of Object.values(failure.rules)) assert.notEqual(terminal, 'halted')
    assert.equal(Object.hasOwn(declared.failure!, 'retry'), false)
  })

  test('a code has one class: in the file, and between file and code', () => {
    const listed = (failure: string) =>
      policy(`consumers:\n  orders: { owner: a, risk: money, failure: { ${failure} } }\n`)
    for (const twice of [
      'retry: { retryable: [A], nonRetryable: [A] }',
      'classes: { A: overload }, retry: { retryable: [A] }',
    ])
      assert.match(
        refused(() => withPolicy(parts(), listed(twice))),
        /names 'A', which has a class elsewhere too/,
      )
    const inCode = parts({ failure: { classes: { A: 'poison' } } })
    assert.match(
      refused(() => withPolicy(inCode, listed('retry: { retryable: [A] }'))),
      /failure\.retry\.retryable differs from the contract/,
    )
    withPolicy(inCode, listed('retry: { nonRetryable: [A] }'))
  })

  test('codes of a consumer and of the defaults count each by itself', () => {
    const text = `defaults: { failure: { retry: { retryable: [A, B], nonRetryable: [C] } } }
consumers: { orders: { owner: a, risk: money, failure: { retry: { nonRetryable: [A] } } } }
`
    assert.deepEqual(withPolicy(parts(), policy(text)).failure.classes, {
      A: 'poison',
      B: 'transient',
      C: 'poison',
    })
  })

  test('may agree, and not differ', () => {
    const text = 'consumers:\n  orders:\n    owner: shop\n    risk: money\n    retention: { markers: 7y }\n'
    const same = parts({ owner: 'shop', risk: 'money', retention: { markers: 7 * 365 * 86_400_000 } })
    assert.equal(withPolicy(same, policy(text)).risk, 'money')
    const message = refused(() =>
      withPolicy(parts({ owner: 'other', risk: 'money', retention: { markers: '8y' } }), policy(text)),
    )
    assert.match(message, /onceward\.yaml:3:12: consumers\.orders\.owner differs from the contract/)
    assert.match(
      message,
      /onceward\.yaml:5:27: consumers\.orders\.retention\.markers differs from the contract/,
    )
    assert.doesNotMatch(message, /risk/)
  })

  test('a function in code and a header in the file are two things', () => {
    const message = refused(() =>
      withPolicy(
        parts(),
        policy('consumers: { orders: { owner: a, risk: money, identity: { id: { header: x } } } }'),
      ),
    )
    assert.match(message, /identity\.id differs from the contract/)
    const off = refused(() =>
      withPolicy(
        parts({ failure: { breaker: false } }),
        policy('consumers: { orders: { owner: a, risk: money, failure: { breaker: { failuresMax: 3 } } } }'),
      ),
    )
    assert.match(off, /failure\.breaker\.failuresMax differs from the contract/)
  })

  test('a contract that was defined already is taken as it was written, not with its defaults', () => {
    const defined = defineConsumer({ ...parts(), owner: 'shop', risk: 'money' } as never)
    const consumer = withPolicy(defined, policy('consumers: { orders: { batch: { sizeMax: 7 } } }'))
    assert.equal(consumer.batch.sizeMax, 7)
    assert.equal(defined.batch.sizeMax, 500)
    assert.equal(consumer.declared.batch?.sizeMax, 7)
  })

  test('defaults apply where no value is given, those of the source first', () => {
    const text = `defaults:
  owner: platform
  order: none
  batch: { sizeMax: 10, inFlightMax: 3 }
  failure: { retry: { maxAttempts: 9, initialDelay: 5s }, breaker: { failuresMax: 4 } }
sources:
  orders.q: { batch: { sizeMax: 20 }, order: key }
  another.q: { batch: { sizeMax: 30 } }
consumers:
  orders: { risk: money, failure: { breaker: false } }
`
    const consumer = withPolicy(parts({ owner: 'shop', failure: { attemptsMax: 2 } }), policy(text))
    assert.equal(consumer.owner, 'shop')
    assert.equal(consumer.order, 'key')
    assert.deepEqual([consumer.batch.sizeMax, consumer.batch.inFlightMax], [20, 3])
    assert.equal(consumer.failure.attemptsMax, 2)
    assert.equal(consumer.failure.rules.transient.delayMs, 5_000)
    assert.equal(consumer.failure.breaker, null)
  })

  test('the retention of a source alone does not enable removal of markers', () => {
    const text = (retention: string) =>
      `sources:\n  orders.q: { retention: { sourceKeeps: 7d } }\nconsumers:\n  orders: { owner: a, risk: money${retention} }\n`
    assert.equal(withPolicy(parts(), policy(text(''))).retention, null)
    const kept = withPolicy(parts(), policy(text(', retention: { markers: 8y }')))
    assert.equal(kept.retention?.sourceKeeps, 7 * 86_400_000)
  })

  test('a consumer the file does not name is refused, with the nearest name at its line', () => {
    const near = refused(() =>
      withPolicy(parts(), policy('consumers:\n  ordes: { owner: a, risk: money }\n')),
    )
    assert.match(near, /onceward\.yaml:2:10: consumers has no orders: did you mean this by 'ordes'\?/)
    const none = refused(() => withPolicy(parts({ owner: 'a', risk: 'money' }), policy('defaults: {}\n')))
    assert.match(none, /onceward\.yaml:1:1: consumers has no orders: add "orders: \{\}"/)
  })

  test('all problems are reported at once: in the file, between file and code, and in the code', () => {
    const message = refused(() =>
      withPolicy(
        parts({ name: 'orders', batch: { sizeMax: 0 }, handle: undefined }),
        policy(`defaults:
  owner: 7
consumers:
  orders:
    risk: none
    dedup: checkpoint
    bogus: 1
    retention: { businessKeys: 1d, markers: 2d }
  Second-One: {}
`),
      ),
    )
    for (const line of [
      'onceward.yaml:2:10: defaults.owner must be a string',
      'onceward.yaml:5:11: consumers.orders.risk must be one of',
      "onceward.yaml:6:12: consumers.orders.dedup 'checkpoint' needs order 'partition'",
      'onceward.yaml:7:5: consumers.orders.bogus is not a known key',
      'onceward.yaml:9:3: consumers.Second-One is not a valid consumer name',
      '- batch.sizeMax: must be a whole number',
      '- handle: set exactly one of',
    ])
      assert.ok(message.includes(line), `${line}\nis not in\n${message}`)
    assert.doesNotMatch(message, /^ {2}- (owner|risk)/m)
  })
})

describe('secrets', () => {
  const text =
    'consumers:\n  orders:\n    owner: a\n    risk: money\n    source: { url: "${' + 'env:ORDERS_URL}" }\n'
  const url = 'amqp://shop:hunter2@broker/'
  const source = ({ source }: { source: unknown }) => source as { url?: string }

  test('are read from the environment at run time', () => {
    const consumer = withPolicy(parts(), policy(text), { environment: { ORDERS_URL: url } })
    assert.equal(source(consumer).url, url)
  })

  test('are not needed to check', () => {
    assert.equal(source(withPolicy(parts(), policy(text))).url, undefined)
  })

  test('that are not set are reported by the name of the variable', () => {
    for (const environment of [{}, { ORDERS_URL: '' }])
      assert.match(
        refused(() => withPolicy(parts(), policy(text), { environment })),
        /onceward\.yaml:5:20: .*source\.url needs the environment variable ORDERS_URL, which is not set/,
      )
  })

  test('are in no error', () => {
    const other = parts({ source: queue('orders.q', { url: 'amqp://other' }), batch: { sizeMax: 0 } })
    const message = refused(() => withPolicy(other, policy(text), { environment: { ORDERS_URL: url } }))
    assert.match(message, /source\.url differs from the contract/)
    assert.doesNotMatch(message, /hunter2/)
    const literal = refused(() => withPolicy(parts(), policy(text.replace(/"\$.*"/, `"${url}"`))))
    assert.match(literal, /source\.url is a secret/)
    assert.doesNotMatch(literal, /hunter2/)
  })
})

test('the file and the contract accept the same values', () => {
  const base = {
    ...parts(),
    owner: 'a',
    risk: 'low value',
    isolation: { mode: 'child' },
    effect: { external: { chosen: { url: 'https://one.example/', policy: 'manual' } } },
  } as never as Record<string, unknown>
  const checked: string[] = []
  for (const key of everyKey) {
    if ((key.kind !== 'count' && key.kind !== 'duration' && key.kind !== 'size') || key.at === null) continue
    if (key.key.endsWith('.port')) continue
    const unit = key.kind === 'size' ? key.unitBytes : 1
    const path = key.at
      .split('.')
      .map(part => (part !== '*' ? part : key.at!.includes('policies') ? 'poison' : 'chosen'))
    const verdict = (value: number) =>
      contractProblems(put(base, path, value) as never).some(({ place }) => place === path.join('.'))
    assert.equal(find(put(base, path, 1), path).is, 'value')
    const alone = /^(retention|effect\.external\.\*\.keyLifetime)/.test(key.key)
    assert.equal(verdict(key.max / unit), false, `${key.key} at most ${key.max}`)
    if (alone) continue
    assert.equal(verdict(key.min / unit), false, `${key.key} at least ${key.min}`)
    assert.equal(verdict(key.max / unit + 1), true, `${key.key} above ${key.max}`)
    if (key.min > 0) assert.equal(verdict(key.min / unit - 1), true, `${key.key} below ${key.min}`)
    checked.push(key.key)
  }
  assert.ok(checked.length > 30, String(checked.length))
})
