import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { until } from 'onceward/testing'
import type { Log, Timers } from '../../../src/environment.ts'
import { realEnvironment } from '../../../src/runtime/real-environment.ts'
import { skipWithout } from '../../services/services.ts'
import { openRig, quick, type Rig } from './rig.ts'

describe('how many calls a dispatcher makes at once', await skipWithout('postgres'), () => {
  let rig: Rig

  before(async () => {
    rig = await openRig()
  })
  after(() => rig.close())

  it('pauses the target for as long as Retry-After asks, within its longest delay', async () => {
    const consumer = rig.nextConsumer()
    const limited = `${consumer}-limited`
    rig.gateway.plan(limited, { status: 429, headers: { 'retry-after': '3600' } })
    await rig.scene.intend(consumer, [limited])
    let nowMs = 1_000
    let looks = 0
    const env = realEnvironment()
    const after: Timers['after'] = (delayMs, callback) =>
      env.timers.after(delayMs, () => {
        looks++
        callback()
      })
    const dispatcher = await rig.start(
      consumer,
      { retryDelayMaxMs: 300 },
      { env: { ...env, clock: { nowMs: () => nowMs }, timers: { ...env.timers, after } } },
    )
    await until('it is limited', async () => (await rig.scene.row(consumer, limited)).state === 'retryable')
    await rig.scene.intend(consumer, [`${consumer}-next`])
    nowMs += 299
    const before = looks
    await until('it has looked again', () => looks >= before + 3)
    assert.equal(rig.gateway.callsFor(`${consumer}-next`).length, 0, 'the target was left alone for a while')
    nowMs += 1
    await until('the next is charged', () => rig.gateway.charges.has(`${consumer}-next`))
    const { rows } = await rig.scene.pool.query(
      `select due_at > clock_timestamp() + interval '14 min' and due_at < clock_timestamp() + interval '16 min' as far
       from onceward.ledger where effect_key = $1`,
      [limited],
    )
    assert.equal(rows[0].far, true)
    await dispatcher.drain()
  })

  it('calls each of 300 once from two dispatchers, within the concurrency of each', async () => {
    const own = await rig.openGateway()
    const consumer = rig.nextConsumer()
    const keys = Array.from({ length: 300 }, (_, index) => `${consumer}-${index}`)
    for (const key of keys) own.plan(key, 'hold, then charge')
    await rig.scene.intend(consumer, keys)
    const two = await Promise.all([1, 2].map(() => rig.start(consumer, { url: own.url, concurrencyMax: 4 })))
    // Else the first may have called all of them before the second looks.
    await until('both call', () => two.every(dispatcher => dispatcher.tally.inFlight > 0))
    for (const key of keys) own.plan(key)
    own.release()
    await until('all complete', async () => (await rig.scene.states(consumer)).completed === 300)
    await Promise.all(two.map(dispatcher => dispatcher.drain()))
    assert.equal(own.calls.length, 300)
    assert.deepEqual([own.charges.size, own.perKeyInFlightMax], [300, 1])
    assert.ok(own.callsInFlightMax <= 8, `${own.callsInFlightMax} calls at once`)
    assert.ok(
      two.every(dispatcher => dispatcher.tally.called > 0),
      'both took part',
    )
    assert.equal(
      two.reduce((sum, dispatcher) => sum + dispatcher.tally.fenced, 0),
      0,
    )
  })

  it('leases no more than it may call, however often it polls', async () => {
    const own = await rig.openGateway()
    const consumer = rig.nextConsumer()
    const keys = Array.from({ length: 8 }, (_, index) => `${consumer}-${index}`)
    for (const key of keys) own.plan(key, 'hold, then charge')
    await rig.scene.intend(consumer, keys)
    let looks = 0
    const env = realEnvironment()
    const after: Timers['after'] = (delayMs, callback) => {
      const look = () => {
        looks++
        callback()
      }
      return env.timers.after(delayMs, delayMs === quick.timeoutMs ? callback : look)
    }
    const timers = { ...env.timers, after }
    const target = { url: own.url, concurrencyMax: 3 }
    const dispatcher = await rig.start(consumer, target, { env: { ...env, timers } })
    await until('three calls are in flight', () => own.calls.length >= 3)
    const before = looks
    await until('it has looked again', () => looks >= before + 3)
    assert.deepEqual(await rig.scene.states(consumer), { 'in flight': 3, pending: 5 })
    await until('all are charged', () => {
      own.release()
      return own.charges.size === 8
    })
    await dispatcher.drain()
    assert.equal(own.callsInFlightMax, 3)
  })

  it("logs refused credentials as an error, and does not use up the backlog's attempts", async () => {
    const consumer = rig.nextConsumer()
    const keys = Array.from({ length: 20 }, (_, index) => `${consumer}-${index}`)
    for (const key of keys) rig.gateway.plan(key, { status: 401 })
    await rig.scene.intend(consumer, keys)
    const errors: string[] = []
    const log: Log = { debug() {}, info() {}, warn() {}, error: message => errors.push(message) }
    const dispatcher = await rig.start(
      consumer,
      { concurrencyMax: 2, retryDelayMaxMs: 60_000 },
      { env: realEnvironment({ log }) },
    )
    await until('the first fail', async () => (await rig.scene.states(consumer)).failed === 2)
    dispatcher.kick()
    await dispatcher.drain()
    assert.ok(errors.some(message => message.includes('credentials')))
    assert.deepEqual(await rig.scene.states(consumer), { failed: 2, pending: 18 })
  })

  it('keeps within the rate of a target, and uses it', async () => {
    const own = await rig.openGateway()
    const consumer = rig.nextConsumer()
    await rig.scene.intend(
      consumer,
      Array.from({ length: 60 }, (_, index) => `${consumer}-${index}`),
    )
    const beganMs = performance.now()
    const dispatcher = await rig.start(consumer, { url: own.url, ratePerSecondMax: 40, concurrencyMax: 50 })
    await until('all complete', async () => (await rig.scene.states(consumer)).completed === 60)
    const seconds = (performance.now() - beganMs) / 1_000
    await dispatcher.drain()
    assert.ok(60 <= 40 * seconds + 5, `60 calls in ${seconds} s`)
    assert.equal(own.calls.length, 60)
  })

  it('pauses for a failing target, tries one call at a time, and resumes when it answers', async () => {
    const own = await rig.openGateway()
    const consumer = rig.nextConsumer()
    const keys = Array.from({ length: 40 }, (_, index) => `${consumer}-${index}`)
    for (const key of keys) own.plan(key, ...Array.from({ length: 30 }, () => ({ status: 500 })))
    await rig.scene.intend(consumer, keys)
    const warned: string[] = []
    const log: Log = { debug() {}, info() {}, warn: message => warned.push(message), error() {} }
    let nowMs = 1_000
    const env = { ...realEnvironment({ log }), clock: { nowMs: () => nowMs } }
    const target = {
      url: own.url,
      concurrencyMax: 4,
      attemptsMax: 100,
      breaker: { failuresMax: 4, pauseMs: 60_000 },
    }
    const dispatcher = await rig.start(consumer, target, { env })
    await until('it has opened', () => warned.some(message => message.includes('keeps failing')))
    await until('the last results are recorded', () => dispatcher.tally.inFlight === 0)
    const before = own.calls.length
    assert.ok(before <= 8, `${before} calls`)
    dispatcher.kick()
    nowMs += 59_000
    dispatcher.kick()
    await rig.scene.states(consumer)
    assert.equal(own.calls.length, before)
    nowMs += 1_000
    dispatcher.kick()
    await until('it is tried', () => own.calls.length === before + 1)
    await until('that failed too', () => warned.length === 2)
    for (const key of keys) own.plan(key)
    nowMs += 60_000
    await until('all complete', async () => (await rig.scene.states(consumer)).completed === 40)
    await dispatcher.drain()
  })
})
