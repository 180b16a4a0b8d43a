import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { until } from 'onceward/testing'
import type { ExternalTarget } from '../../../src/contract/external-target.ts'
import { createDispatcher } from '../../../src/effects/external/dispatcher.ts'
import { realEnvironment } from '../../../src/runtime/real-environment.ts'
import { skipWithout } from '../../services/services.ts'
import { openRig, quick, type Rig } from './rig.ts'

describe('the states of a dispatcher', await skipWithout('postgres'), () => {
  let rig: Rig

  before(async () => {
    rig = await openRig()
  })
  after(() => rig.close())

  it('finishes and records the calls in flight when drained, and takes nothing new', async () => {
    const consumer = rig.nextConsumer()
    rig.gateway.plan(`${consumer}-a`, 'hold, then charge')
    await rig.scene.intend(consumer, [`${consumer}-a`])
    const dispatcher = await rig.start(consumer)
    await until('the call is made', () => rig.gateway.callsFor(`${consumer}-a`).length === 1)
    const drained = dispatcher.drain()
    await rig.scene.intend(consumer, [`${consumer}-b`])
    dispatcher.kick()
    rig.gateway.release()
    await drained
    await dispatcher.finished
    assert.equal((await rig.scene.row(consumer, `${consumer}-a`)).state, 'completed')
    assert.deepEqual(
      [(await rig.scene.row(consumer, `${consumer}-b`)).state, rig.gateway.callsFor(`${consumer}-b`).length],
      ['pending', 0],
    )
  })

  it('wakes on a kick long before its next poll', async () => {
    const consumer = rig.nextConsumer()
    const timers: { delayMs: number; callback: () => void }[] = []
    const env = realEnvironment()
    const dispatcher = await rig.start(
      consumer,
      {},
      {
        env: {
          ...env,
          timers: {
            ...env.timers,
            // Polls never fire: only kicks can wake it.
            after: (delayMs, callback) => {
              if (delayMs === quick.timeoutMs) return env.timers.after(delayMs, callback)
              timers.push({ delayMs, callback })
              return () => {}
            },
          },
        },
      },
    )
    await until('it is idle', () => timers.length > 0)
    await rig.scene.intend(consumer, [`${consumer}-key`])
    dispatcher.kick()
    await until(
      'it completes',
      async () => (await rig.scene.row(consumer, `${consumer}-key`)).state === 'completed',
    )
    dispatcher.leave()
  })

  it('refuses a lease that does not outlast the call, and an address that is not http', () => {
    const make = (target: ExternalTarget, leaseMs?: number) =>
      createDispatcher({
        pool: rig.scene.pool,
        targets: { gateway: target },
        consumerName: 'x',
        env: realEnvironment(),
        instance: 'test',
        ...(leaseMs && { leaseMs }),
      })
    assert.throws(
      () => make({ url: rig.gateway.url, allowPrivate: true, timeoutMs: 1_000 }, 1_000),
      /does not outlast a call/,
    )
    assert.throws(() => make({ url: 'file:///etc/hosts' }), /must be an http or https address/)
    assert.throws(() => make({ url: 'http://me:secret@localhost/' }), /carries credentials/)
    assert.throws(
      () => make({ url: 'https://gateway.example/', headers: { 'bad header': 'x' } }),
      /headers\.bad header is not the name of a header/,
    )
  })
})
