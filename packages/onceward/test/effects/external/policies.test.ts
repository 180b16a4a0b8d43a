import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { until } from 'onceward/testing'
import type { HttpTarget, QueryAnswer } from '../../../src/contract/external-target.ts'
import { skipWithout } from '../../services/services.ts'
import { openRig, quick, type Rig } from './rig.ts'

const lost = 'charge, then reset' as const
const keyless = { keyHeader: null } as const

describe('what a policy permits after a call that may have happened', await skipWithout('postgres'), () => {
  let rig: Rig

  before(async () => {
    rig = await openRig()
  })
  after(() => rig.close())

  /** The policy's target, with a book of what its query was asked. */
  function querying(...answers: (QueryAnswer | Error)[]) {
    const asked: string[] = []
    const target: Partial<HttpTarget> = {
      ...keyless,
      policy: 'query first',
      queryDelayMs: 1,
      timeoutMs: 2_000,
      query: async ({ key }) => {
        asked.push(key)
        const answer = answers.shift() ?? 'unknown'
        if (answer instanceof Error) throw answer
        return answer
      },
    }
    return { asked, target }
  }

  it('keyed: a server error that the target replays is no new evidence, and is not requested again', async () => {
    const replayed = { status: 500, headers: { 'idempotent-replayed': 'true' } }
    const { row, calls, charged } = await rig.settle({}, 'charge, then 500', replayed)
    assert.deepEqual([row.state, calls.length, charged], ['reconciling', 2, true])
    assert.match(row.last_error!, /no new evidence/)
  })

  it('keyed: the same server error twice proves nothing either, and the doubt stays', async () => {
    const { row } = await rig.settle({ attemptsMax: 2 }, 'charge, then 500', 'charge, then 500')
    assert.equal(row.state, 'unknown')
    assert.match(row.last_error!, /same as before/)
  })

  it('keyed: a stored refusal is the answer to the first call, and ends the doubt', async () => {
    const declined = { status: 402, headers: { 'idempotent-replayed': 'true' } }
    const { row, calls } = await rig.settle({}, { status: 500 }, declined)
    assert.deepEqual([row.state, calls.length], ['failed', 2])
  })

  it("keyed: 422 is set aside with the target's reply, and does not resolve an earlier call", async () => {
    const refusal = { status: 422, body: '{"error":"key was used with other bytes"}' }
    const first = await rig.settle({}, refusal)
    assert.deepEqual([first.row.state, first.row.response_excerpt], ['failed', refusal.body])
    const later = await rig.settle({}, lost, refusal)
    assert.deepEqual([later.row.state, later.row.response_excerpt], ['unknown', refusal.body])
  })

  it('keyed: nothing is repeated after half of the key’s lifetime, with any attempts left', async () => {
    const consumer = rig.nextConsumer()
    const [old, fresh] = [`${consumer}-old`, `${consumer}-fresh`]
    await rig.scene.intend(consumer, [old, fresh])
    await rig.scene.pool.query(
      `update onceward.ledger set state = 'unknown', attempts = 1, created_at = created_at - interval '3 days',
         doubt_since = clock_timestamp() - case when effect_key like '%old' then interval '31 min' else interval '29 min' end
       where consumer_name = $1`,
      [consumer],
    )
    const dispatcher = await rig.start(consumer, { keyLifetimeMs: 3_600_000 })
    await until('one waits', async () => (await rig.scene.row(consumer, old)).due === 'infinity')
    await until('one is done', async () => (await rig.scene.row(consumer, fresh)).state === 'completed')
    await dispatcher.drain()
    const { state, attempts, last_error } = await rig.scene.row(consumer, old)
    assert.deepEqual([state, attempts, rig.gateway.callsFor(old).length], ['reconciling', 1, 0])
    assert.match(last_error!, /forgotten the key/)
    assert.equal(rig.gateway.callsFor(fresh).length, 1)
  })

  it('keyed: a call that certainly did not happen is sent at any age', async () => {
    const consumer = rig.nextConsumer()
    await rig.scene.intend(consumer, [`${consumer}-key`])
    await rig.scene.pool.query(
      `update onceward.ledger set state = 'retryable', attempts = 1, created_at = created_at - interval '3 days',
         doubt_since = created_at - interval '3 days' where consumer_name = $1`,
      [consumer],
    )
    const dispatcher = await rig.start(consumer)
    await until('it is done', async () => (await rig.scene.states(consumer)).completed === 1)
    await dispatcher.drain()
  })

  it('query first: an earlier call that took effect is found, and not repeated', async () => {
    const { asked, target } = querying('completed')
    const { row, calls } = await rig.settle(target, lost)
    assert.deepEqual([row.state, row.attempts, calls.length, asked.length], ['completed', 1, 1, 1])
  })

  it('query first: one that did not is repeated, each time after another query', async () => {
    const { asked, target } = querying('not done', 'not done', 'completed')
    const { row, calls } = await rig.settle(target, lost, lost, lost)
    assert.deepEqual([row.state, row.attempts, calls.length, asked.length], ['completed', 3, 3, 3])
  })

  it('query first: a query without an answer leads to no call, and in the end to an operator', async () => {
    const { asked, target } = querying('unknown', new Error('unavailable'), 'unknown')
    const { row, calls } = await rig.settle({ ...target, keyLifetimeMs: 4_000 }, lost)
    assert.deepEqual([row.state, row.attempts, calls.length], ['reconciling', 1, 1])
    assert.ok(asked.length >= 2, `${asked.length} queries`)
  })

  it('query first: a query past its deadline is given up', async () => {
    const { target } = querying()
    const { row, calls } = await rig.settle(
      { ...target, timeoutMs: 300, keyLifetimeMs: 400, query: () => new Promise(() => {}) },
      lost,
    )
    assert.deepEqual([row.state, calls.length], ['reconciling', 1])
  })

  it('query first: waits before the query, so that a call still in progress is not missed', async () => {
    const consumer = rig.nextConsumer()
    const key = `${consumer}-key`
    rig.gateway.plan(key, lost)
    await rig.scene.intend(consumer, [key])
    const { target } = querying('completed')
    const dispatcher = await rig.start(consumer, { ...target, queryDelayMs: 60_000 })
    await until('it is unknown', async () => (await rig.scene.row(consumer, key)).state === 'unknown')
    const { rows } = await rig.scene.pool.query(
      `select due_at between clock_timestamp() + interval '50 s' and clock_timestamp() + interval '61 s' as later
       from onceward.ledger where effect_key = $1`,
      [key],
    )
    assert.equal(rows[0].later, true)
    await dispatcher.drain()
  })

  it('at most once: one call, and its row stays unknown', async () => {
    const { row, calls } = await rig.settle({ ...keyless, policy: 'at most once' }, lost)
    assert.deepEqual([row.state, row.attempts, calls.length], ['unknown', 1, 1])
  })

  it('at most once: an answered call is not repeated', async () => {
    const { row, calls } = await rig.settle({ ...keyless, policy: 'at most once' }, { status: 429 })
    assert.deepEqual([row.state, calls.length], ['failed', 1])
  })

  it('at most once: a connection that was never made is no call', async () => {
    const target = { ...keyless, policy: 'at most once', url: 'http://127.0.0.1:1/', attemptsMax: 3 } as const
    const { row } = await rig.settle(target)
    assert.deepEqual([row.state, row.attempts], ['failed', 3])
  })

  for (const [policy, state] of [
    ['at most once', 'unknown'],
    ['manual', 'reconciling'],
  ] as const) {
    it(`${policy}: an effect leased by a crashed dispatcher is not called, but ${state}`, async () => {
      const consumer = rig.nextConsumer()
      const key = `${consumer}-key`
      await rig.scene.intend(consumer, [key])
      await rig.scene.pool.query(
        `update onceward.ledger set state = 'in flight', attempts = 1, epoch = 1 where consumer_name = $1`,
        [consumer],
      )
      const dispatcher = await rig.start(consumer, { ...keyless, policy })
      await until('it waits', async () => (await rig.scene.row(consumer, key)).due === 'infinity')
      await dispatcher.drain()
      const row = await rig.scene.row(consumer, key)
      assert.deepEqual([row.state, row.attempts, rig.gateway.callsFor(key).length], [state, 1, 0])
    })
  }

  it('manual: a call that may have happened waits for an operator, a refusal is final', async () => {
    const unsure = await rig.settle({ ...keyless, policy: 'manual' }, lost)
    assert.deepEqual([unsure.row.state, unsure.calls.length], ['reconciling', 1])
    const refused = await rig.settle({ ...keyless, policy: 'manual' }, { status: 409 })
    assert.deepEqual([refused.row.state, refused.calls.length], ['failed', 1])
    const later = { status: 503, headers: { 'retry-after': '0' } }
    const busy = await rig.settle({ ...keyless, ...quick, policy: 'manual' }, later)
    assert.deepEqual([busy.row.state, busy.calls.length], ['completed', 2])
  })

  for (const status of [408, 503]) {
    it(`without a key, ${status} alone does not prove that nothing was done`, async () => {
      const once = await rig.settle({ ...keyless, policy: 'at most once' }, { status })
      assert.deepEqual([once.row.state, once.calls.length], ['unknown', 1])
      const manual = await rig.settle({ ...keyless, policy: 'manual' }, { status })
      assert.deepEqual([manual.row.state, manual.calls.length], ['reconciling', 1])
    })
  }

  it('manual: a rejected call is retried', async () => {
    const limited = await rig.settle({ ...keyless, ...quick, policy: 'manual' }, { status: 429 })
    assert.deepEqual([limited.row.state, limited.calls.length], ['completed', 2])
  })
})
