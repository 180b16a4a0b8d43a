import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { until } from 'onceward/testing'
import { bytesDigest } from '../../../src/message/digest.ts'
import { skipWithout } from '../../services/services.ts'
import { impatient, openRig, type Rig } from './rig.ts'

describe('how a dispatcher judges an answer', await skipWithout('postgres'), () => {
  let rig: Rig

  before(async () => {
    rig = await openRig()
  })
  after(() => rig.close())

  it('calls once with the stored key, bytes and content type, and keeps the digest of the answer', async () => {
    const { row, calls, charged } = await rig.settle({})
    assert.equal(charged, true)
    assert.deepEqual(
      [row.state, row.attempts, row.response_status, row.completed],
      ['completed', 1, 200, true],
    )
    assert.deepEqual(row.response_digest, bytesDigest(Buffer.from('{"charged":true}')))
    assert.equal(calls.length, 1)
    assert.equal(calls[0]!.contentType, 'application/json')
    assert.match(Buffer.from(calls[0]!.body, 'hex').toString(), /^\{"capture":"payments_\d+-key"\}$/)
  })

  for (const { behaviour, target } of [
    { behaviour: 'charge, never answer', target: impatient },
    { behaviour: 'charge, then drip', target: impatient },
    { behaviour: 'charge, then 500', target: {} },
    { behaviour: 'charge, then reset', target: {} },
  ] as const) {
    it(`repeats under the same key after "${behaviour}", and one charge is made`, async () => {
      const { row, calls, dispatcher } = await rig.settle(target, behaviour)
      assert.equal(row.state, 'completed')
      assert.ok(
        calls.length >= 2 && calls.length === row.attempts,
        `${calls.length} calls, ${row.attempts} attempts`,
      )
      assert.deepEqual(dispatcher.tally.results, { unknown: row.attempts - 1, completed: 1 })
    })

    it(`lists it as unknown when "${behaviour}" uses up the attempts`, async () => {
      const { row, calls, charged } = await rig.settle(
        { ...target, attemptsMax: 2 },
        behaviour,
        behaviour,
        behaviour,
      )
      assert.deepEqual([row.state, row.attempts, calls.length, charged], ['unknown', 2, 2, true])
    })
  }

  for (const status of [408, 409, 425, 429, 503]) {
    it(`waits and repeats after ${status}`, async () => {
      const { row, dispatcher } = await rig.settle({}, { status })
      assert.deepEqual([row.state, row.attempts], ['completed', 2])
      assert.deepEqual(dispatcher.tally.results, { retryable: 1, completed: 1 })
    })
  }

  it('fails when rejected on every attempt', async () => {
    const { row, calls, charged } = await rig.settle(
      { attemptsMax: 3 },
      { status: 503 },
      { status: 503 },
      { status: 409 },
    )
    assert.deepEqual([row.state, row.attempts, calls.length, charged], ['failed', 3, 3, false])
  })

  for (const status of [400, 401, 403, 404, 422]) {
    it(`fails at once after ${status}`, async () => {
      const { row, calls } = await rig.settle({}, { status })
      assert.deepEqual([row.state, row.response_status, calls.length], ['failed', status, 1])
    })
  }

  for (const status of [300, 301, 302, 303, 304, 307, 308]) {
    it(`does not follow ${status}, and reports that the call may have taken effect`, async () => {
      const answer = { status, headers: { location: '/elsewhere' } }
      const { row, calls } = await rig.settle({ attemptsMax: 1 }, answer)
      assert.deepEqual(
        [row.state, row.response_status, calls.map(call => call.path)],
        ['unknown', status, ['/charges']],
      )
      assert.match(row.last_error!, /configure the final address/)
    })
  }

  it('repeats after a redirect under the same key, and the later answer ends the doubt', async () => {
    const { row, calls } = await rig.settle({}, { status: 303, headers: { location: '/charges/1' } })
    assert.deepEqual([row.state, calls.length], ['completed', 2])
  })

  it('does not repeat after a redirect where the policy forbids it', async () => {
    const redirect = { status: 302, headers: { location: '/thanks' } }
    const once = await rig.settle({ policy: 'at most once' }, redirect)
    assert.deepEqual([once.row.state, once.calls.length], ['unknown', 1])
    const manual = await rig.settle({ policy: 'manual' }, redirect)
    assert.deepEqual([manual.row.state, manual.calls.length], ['reconciling', 1])
  })

  it('leaves a redirect that the target replays from storage to operators', async () => {
    const headers = { location: '/charges/1', 'idempotent-replayed': 'true' }
    const { row, calls } = await rig.settle({}, { status: 303, headers })
    assert.deepEqual([row.state, calls.length], ['reconciling', 1])
  })

  it('records unknown, not failed, when a refusal follows a call that may have happened', async () => {
    const { row, charged } = await rig.settle(impatient, 'charge, never answer', { status: 422 })
    assert.deepEqual([row.state, row.attempts, charged], ['unknown', 2, true])
  })

  it('keeps the doubt through answers that do not resolve it', async () => {
    const { row } = await rig.settle({ ...impatient, attemptsMax: 2 }, 'charge, never answer', {
      status: 503,
    })
    assert.equal(row.state, 'unknown')
  })

  it('stops reading an answer without end, and notes it', async () => {
    const { row } = await rig.settle({}, 'charge, answer without end')
    assert.equal(row.state, 'completed')
    assert.match(row.last_error!, /longer than 65536 bytes/)
    assert.deepEqual(row.response_digest, bytesDigest(Buffer.alloc(65_536)))
  })

  it('records that a call to an unreachable target did not happen', async () => {
    const refused = await rig.settle({ url: 'http://127.0.0.1:1023/', attemptsMax: 3 })
    assert.deepEqual([refused.row.state, refused.row.attempts], ['failed', 3])
    assert.match(refused.row.last_error!, /ECONNREFUSED/)
  })

  it('sends no key that HTTP would change, and no bytes that are not the recorded ones', async () => {
    const consumer = rig.nextConsumer()
    const keys = ['grüße', 'k1 ', 'k2']
    await rig.scene.intend(consumer, keys)
    await rig.scene.pool.query(
      `update onceward.ledger set body = '\\x00' where consumer_name = $1 and effect_key = 'k2'`,
      [consumer],
    )
    const dispatcher = await rig.start(consumer)
    await until('all are refused', async () => (await rig.scene.states(consumer)).failed === 3)
    assert.deepEqual(
      keys.flatMap(key => rig.gateway.callsFor(key)),
      [],
    )
    await dispatcher.drain()
  })
})
