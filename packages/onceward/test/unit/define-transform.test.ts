import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readPolicy } from '../../src/contract/policy/read-policy.ts'
import { topic } from '../../src/drivers/kafka/topic.ts'
import { queue } from '../../src/drivers/rabbitmq/declaration.ts'
import { defineTransform, type OncewardError, type TransformContract, withPolicy } from '../../src/index.ts'
import { contractPage } from '../../src/review/page/contract-page.ts'
import { renderPage } from '../../src/review/page/render-page.ts'

const contract: TransformContract = {
  name: 'paid_orders',
  owner: 'orders',
  risk: 'projection',
  source: topic('orders', { start: 'earliest' }),
  failure: { deadLetter: 'orders.dead' },
  to: ['paid'],
  map: () => [],
}

const problemsOf = (changes: object) => {
  try {
    defineTransform({ ...contract, ...changes })
    return []
  } catch (error) {
    assert.equal((error as OncewardError).code, 'contract_invalid')
    const { problems } = (error as OncewardError).details as { problems: { place: string }[] }
    return problems.map(({ place }) => place)
  }
}

describe('the contract of a transform', () => {
  test('is a consumer by partition whose position moves with its outputs', () => {
    const { order, dedup, settle, identity, failure, batch } = defineTransform(contract)
    assert.deepEqual(
      { order, dedup, when: settle.when, id: identity.id },
      { order: 'partition', dedup: 'checkpoint', when: 'with effect', id: 'position' },
    )
    assert.deepEqual([failure.deadLetter, failure.deadLetterOwner], ['orders.dead', 'orders'])
    assert.equal(batch.sizeMax, 500)
  })

  for (const [what, changes, places] of [
    ['another source', { source: queue('q') }, ['source']],
    ['uncommitted records', { source: topic('orders', { isolation: 'uncommitted' }) }, ['source.isolation']],
    ['its source as a target', { to: ['orders'] }, ['to']],
    ['no target', { to: [] }, ['to']],
    ['no function', { map: 'no' }, ['map']],
    ['dead letters to its source', { failure: { deadLetter: 'orders' } }, ['failure.deadLetter']],
    ['dead letters among its outputs', { failure: { deadLetter: { to: 'paid' } } }, ['failure.deadLetter']],
    ['a store', { retention: {}, order: 'key' }, ['retention', 'order']],
    ['stored retries', { failure: { mode: 'defer' } }, ['failure.mode']],
    ['a count of deliveries', { failure: { redelivery: { countMax: 3 } } }, ['failure.redelivery']],
    ['a business key', { identity: { id: () => 'a', businessKey: () => 'b' } }, ['identity.businessKey']],
    ['money that passes a dead letter', { risk: 'money' }, ['failure.deadLetter.passingAcceptedBy']],
  ] as const) {
    test(`refuses ${what}`, () => assert.deepEqual(problemsOf(changes), places))
  }

  test('may have risk money if a named owner accepts gaps, if exhausted records stop it, or without a dead-letter topic', () => {
    const accepted = { deadLetter: { to: 'orders.dead', passingAcceptedBy: 'head of orders' } }
    assert.deepEqual(problemsOf({ risk: 'money', failure: accepted }), [])
    assert.deepEqual(
      problemsOf({ risk: 'money', failure: { deadLetter: 'orders.dead', exhausted: 'stop' } }),
      [],
    )
    assert.deepEqual(problemsOf({ risk: 'money', failure: {} }), [])
  })
})

describe('a policy file for a transform', () => {
  const { owner: _owner, risk: _risk, failure: _failure, ...parts } = contract
  const read = (text: string) => readPolicy(text, 'onceward.yaml')

  test('sets owner, risk and failures, and skips defaults for stores', () => {
    const policy = read(`
defaults:
  retention: { markers: 30d }
  failure: { retry: { maxAttempts: 7 } }
consumers:
  paid_orders:
    owner: sales
    risk: projection
    failure: { deadLetter: orders.dead }
`)
    const { owner, failure, retention } = withPolicy(parts, policy)
    assert.deepEqual(
      [owner, failure.attemptsMax, failure.deadLetter, retention],
      ['sales', 7, 'orders.dead', null],
    )
  })

  test('refuses, at its line, what needs a store', () => {
    const policy = read(`consumers:
  paid_orders:
    owner: sales
    risk: projection
    inbox: { mode: stored }
`)
    assert.throws(
      () => withPolicy(parts, policy),
      /transform "paid_orders"[\s\S]*onceward\.yaml:5:\d+: consumers\.paid_orders\.inbox\.mode does not apply to a transform/,
    )
  })
})

describe('the page of a transform', () => {
  test('has the outputs, the outcome of bad records, and what is not promised', () => {
    const page = contractPage(defineTransform(contract))
    const text = renderPage(page)
    assert.match(text, /^# Transform contract: `paid_orders`/)
    assert.match(text, /\| Output topics \| paid \|/)
    assert.match(text, /orders\.dead/)
    assert.match(text, /\| bytes that cannot be decoded \| quarantined/)
    assert.match(
      text,
      /\| the handler always fails, class unclassified \| 5 attempts, then it is dead-lettered/,
    )
    assert.doesNotMatch(text, /PostgreSQL|marker|parked until/)
    assert.match(text, /may be repeated/)
  })

  test('states that it halts without a dead-letter topic', () => {
    const { behaviour } = contractPage(defineTransform({ ...contract, failure: {} }))
    const outcomeOf = (name: string) => behaviour.find(({ situation }) => situation === name)?.outcome
    assert.deepEqual([outcomeOf('undecodable'), outcomeOf('unclassified')], ['halted', 'halted'])
  })
})
