import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { until } from 'onceward/testing'
import { createDispatcher, type Dispatcher } from '../../../src/effects/external/dispatcher.ts'
import { realEnvironment } from '../../../src/runtime/real-environment.ts'
import { skipWithout } from '../../services/services.ts'
import { Gateway } from '../gateway.ts'
import { type Child, openScene, type Scene, startChild } from '../scene.ts'

const patient = { timeoutMs: 15_000, leaseMs: 20_000 }
const lease = { timeoutMs: 2_000, leaseMs: 3_000 }
/** Time enough to freeze it before its call is given up. */
const slow = { timeoutMs: 4_000, leaseMs: 5_000 }

describe('a dispatcher that dies or freezes', await skipWithout('postgres'), () => {
  let scene: Scene
  let gateway: Gateway
  const dispatchers: Dispatcher[] = []
  const children: Child[] = []

  before(async () => {
    scene = await openScene()
    gateway = await new Gateway().open()
  })
  after(async () => {
    for (const dispatcher of dispatchers) dispatcher.leave()
    for (const child of children) child.process.kill('SIGKILL')
    gateway.close()
    await scene.close()
  })

  const optionsFor = (consumerName: string, attemptsMax = 8, { timeoutMs, leaseMs } = lease) => ({
    consumerName,
    leaseMs,
    targets: { gateway: { url: gateway.url, allowPrivate: true, timeoutMs, retryDelayMs: 1, attemptsMax } },
  })

  const startHere = async (consumerName: string, attemptsMax?: number, times?: typeof lease) => {
    const env = realEnvironment()
    const dispatcher = createDispatcher({
      pool: scene.pool,
      env,
      instance: 'here',
      ...optionsFor(consumerName, attemptsMax, times),
    })
    dispatchers.push(dispatcher)
    await dispatcher.start()
    return dispatcher
  }

  const killAt = async (point: string, consumerName: string, attemptsMax?: number) => {
    const child = startChild({ url: scene.url, killAt: point, ...optionsFor(consumerName, attemptsMax) })
    children.push(child)
    assert.equal(await child.ended, 'SIGKILL', `${point} was reached`)
  }

  it('killed holding a lease: another takes over when it expires, and calls once', async () => {
    await scene.intend('claimed', ['claimed-1'])
    await killAt('dispatch.leased', 'claimed')
    assert.equal(gateway.callsFor('claimed-1').length, 0)
    const { state, epoch } = await scene.row('claimed', 'claimed-1')
    assert.deepEqual([state, epoch], ['in flight', 1])
    const dispatcher = await startHere('claimed')
    await until('taken over', async () => (await scene.row('claimed', 'claimed-1')).state === 'completed')
    await dispatcher.drain()
    assert.equal(gateway.callsFor('claimed-1').length, 1)
    assert.deepEqual((await scene.row('claimed', 'claimed-1')).epoch, 2)
  })

  it('killed between the answer and its record: called again with the same key and bytes, charged once', async () => {
    await scene.intend('called', ['called-1'])
    await killAt('dispatch.called', 'called')
    assert.equal(gateway.charges.has('called-1'), true)
    assert.equal((await scene.row('called', 'called-1')).state, 'in flight')
    const dispatcher = await startHere('called')
    await until('called again', async () => (await scene.row('called', 'called-1')).state === 'completed')
    await dispatcher.drain()
    const calls = gateway.callsFor('called-1')
    assert.deepEqual([calls.length, calls[0]!.body === calls[1]!.body], [2, true])
    assert.equal((await scene.row('called', 'called-1')).attempts, 2)
  })

  it('killed after the record: nothing is called again', async () => {
    await scene.intend('recorded', ['recorded-1'])
    await killAt('dispatch.recorded', 'recorded')
    assert.equal((await scene.row('recorded', 'recorded-1')).state, 'completed')
    const dispatcher = await startHere('recorded')
    await scene.intend('recorded', ['recorded-2'])
    await until(
      'the next is done',
      async () => (await scene.row('recorded', 'recorded-2')).state === 'completed',
    )
    await dispatcher.drain()
    assert.equal(gateway.callsFor('recorded-1').length, 1)
  })

  it('killed at every attempt: the attempts stay bounded, and the row is listed as unknown', async () => {
    await scene.intend('doomed', ['doomed-1'])
    await killAt('dispatch.called', 'doomed', 2)
    await killAt('dispatch.called', 'doomed', 2)
    const dispatcher = await startHere('doomed', 2)
    await until('it waits for people', async () => (await scene.row('doomed', 'doomed-1')).due === 'infinity')
    await dispatcher.drain()
    const { state, attempts, last_error } = await scene.row('doomed', 'doomed-1')
    assert.deepEqual([state, attempts, gateway.callsFor('doomed-1').length], ['unknown', 2, 2])
    assert.match(last_error!, /used up/)
  })

  it('frozen past its lease: another finishes, and the late result changes nothing', async () => {
    gateway.plan('frozen-1', 'hold, then charge', 'charge')
    await scene.intend('frozen', ['frozen-1'])
    const frozen = startChild({ url: scene.url, ...optionsFor('frozen', 3, slow) })
    children.push(frozen)
    await until('its call is in flight', () => gateway.callsFor('frozen-1').length === 1)
    frozen.process.kill('SIGSTOP')
    const dispatcher = await startHere('frozen', 3, slow)
    await until('another finishes', async () => (await scene.row('frozen', 'frozen-1')).state === 'completed')
    const before = await scene.row('frozen', 'frozen-1')
    frozen.process.kill('SIGCONT')
    const tally = await frozen.drain()
    gateway.release()
    assert.deepEqual([tally.fenced, tally.called], [1, 1])
    assert.deepEqual(await scene.row('frozen', 'frozen-1'), before)
    assert.deepEqual([before.epoch, before.response_status, gateway.callsFor('frozen-1').length], [2, 200, 2])
    await dispatcher.drain()
  })

  it('a clock that is days off decides nothing: leases follow the database', async () => {
    gateway.plan('clock-1', 'hold, then charge', 'charge')
    await scene.intend('clock', ['clock-1'])
    const first = await startHere('clock', 8, patient)
    await until('its call is in flight', () => gateway.callsFor('clock-1').length === 1)
    const env = realEnvironment()
    const skewed = { ...env, clock: { nowMs: () => env.clock.nowMs() + 5 * 86_400_000 } }
    const second = createDispatcher({
      pool: scene.pool,
      env: skewed,
      instance: 'skewed',
      ...optionsFor('clock', 8, patient),
    })
    dispatchers.push(second)
    await second.start()
    await scene.intend('clock', ['clock-2'])
    await until('others are done', async () => (await scene.row('clock', 'clock-2')).state === 'completed')
    gateway.release()
    await until(
      'the first completes',
      async () => (await scene.row('clock', 'clock-1')).state === 'completed',
    )
    await Promise.all([first.drain(), second.drain()])
    assert.equal((await scene.row('clock', 'clock-1')).epoch, 1)
    assert.equal(gateway.callsFor('clock-1').length, 1)
  })
})
