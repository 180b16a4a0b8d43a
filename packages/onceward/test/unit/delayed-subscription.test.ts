import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { DelayedSubscription } from '../../src/drivers/log/delayed-subscription.ts'
import type { Delivery, Subscription } from '../../src/ports/source.ts'

/** A member whose records and ownership the test decides, and a clock it moves. */
function openRig() {
  let nowMs = 10_000
  let setBackMs = 0
  const timers: { atMs: number; callback: () => void }[] = []
  const gone = new Set<Delivery>()
  let given = Promise.withResolvers<readonly Delivery[]>()
  return {
    gone,
    give: (...deliveries: Delivery[]) => {
      given.resolve(deliveries)
      given = Promise.withResolvers()
    },
    move: (ms: number) => {
      nowMs += ms
      for (const timer of timers.splice(0)) {
        if (timer.atMs <= nowMs) timer.callback()
        else timers.push(timer)
      }
    },
    setDateBack: (ms: number) => {
      setBackMs += ms
    },
    subscription: new DelayedSubscription(
      {
        receive: () => given.promise,
        isLive: (delivery: Delivery) => !gone.has(delivery),
        close: async () => given.resolve([]),
      } as unknown as Subscription,
      {
        delayMs: 1_000,
        restore: delivery => delivery,
        wallMs: () => nowMs - setBackMs,
        steadyMs: () => nowMs,
        after: (delayMs, callback) => {
          const timer = { atMs: nowMs + delayMs, callback }
          timers.push(timer)
          return () => void timers.splice(timers.indexOf(timer), timers.includes(timer) ? 1 : 0)
        },
      },
    ),
  }
}

const record = (timestampMs: number) => ({ properties: { timestampMs } }) as Delivery
const turn = () => new Promise(resolve => setImmediate(resolve))

describe('a delay level', () => {
  test('delivers a record when it is old enough, and not before', async () => {
    const rig = openRig()
    const [old, young] = [record(9_000), record(9_400)]
    const first = rig.subscription.receive(10)
    rig.give(old, young)
    assert.deepEqual(await first, [old])
    let early = true
    const second = rig.subscription.receive(10).finally(() => {
      early = false
    })
    await turn()
    rig.move(399)
    await turn()
    assert.ok(early)
    rig.move(1)
    assert.deepEqual(await second, [young])
  })

  test('never waits longer than the level, for any timestamp of a record', async () => {
    const rig = openRig()
    const ahead = record(99_000_000)
    const received = rig.subscription.receive(10)
    rig.give(ahead)
    await turn()
    rig.move(1_000)
    assert.deepEqual(await received, [ahead])
  })

  test('never waits longer than the level when the date is set back meanwhile', async () => {
    const rig = openRig()
    const waiting = record(10_000)
    const received = rig.subscription.receive(10)
    rig.give(waiting)
    await turn()
    rig.setDateBack(3_600_000)
    rig.move(1_000)
    assert.deepEqual(await received, [waiting])
  })

  test('drops records of another owner, and reads on while a record waits', async () => {
    const rig = openRig()
    const [lost, kept] = [record(9_500), record(9_900)]
    const received = rig.subscription.receive(10)
    rig.give(lost)
    await turn()
    rig.give(kept)
    await turn()
    rig.gone.add(lost)
    rig.move(900)
    assert.deepEqual(await received, [kept])
  })

  test('ends a receive that waits when it is closed', async () => {
    const rig = openRig()
    const received = rig.subscription.receive(10)
    rig.give(record(10_000))
    await turn()
    await rig.subscription.close()
    assert.deepEqual(await received, [])
  })
})
