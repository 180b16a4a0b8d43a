import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { appliedDecision } from '../../src/engine/batch/decide-outcome.ts'
import type { Decision } from '../../src/engine/batch/outcome.ts'
import { behindBlocked, capParking, keyIsFull, releasedKeys } from '../../src/engine/batch/parking-caps.ts'
import type { ConsumerContext } from '../../src/engine/consumer-context.ts'
import type { Received } from '../../src/message/received.ts'
import { receivedOf } from './received.ts'

function scene(parkedTotal: number, stage: ConsumerContext['stage'] = 'inline') {
  const alerts: unknown[] = []
  const env = {
    metrics: { add: (...metric: unknown[]) => alerts.push(metric) },
    log: { error: (...line: unknown[]) => alerts.push(line) },
  }
  const failure = { parking: { perKeyMax: 3, totalMax: 10 } }
  const context = { consumer: { name: 'c', failure }, env, stage } as unknown as ConsumerContext
  let asked = 0
  const session = {
    parkedTotal: async () => {
      asked++
      return parkedTotal
    },
  } as never
  return { context, session, alerts, asked: () => asked }
}

const told = [
  ['parkingFull', 1, { consumer: 'c' }],
  ['parking lot full: lanes wait, nothing is dropped', { consumer: 'c' }],
]
const blocked = (...keys: [string, boolean, number][]) =>
  new Map(keys.map(([key, released, waiting]) => [key, { released, waiting }])) as never
const waits = { kind: 'behind', leader: 'retry', delayMs: 1_000 }
const parked = { kind: 'behind', leader: 'parked', delayMs: 0 }

describe('the limits of parking', () => {
  test('a message of a parked key is parked behind it; of a released or free key it is not', async () => {
    const { context, session, alerts } = scene(9)
    const behind = await behindBlocked(blocked(['p', false, 2], ['r', true, 9]), session, context)
    assert.deepEqual([behind('p'), behind('r'), behind('free')], [parked, null, null])
    assert.deepEqual(alerts, [])
  })

  test('no query is sent when no key is parked', async () => {
    const { context, session, asked } = scene(99)
    const behind = await behindBlocked(blocked(['r', true, 9]), session, context)
    assert.deepEqual([behind('r'), asked()], [null, 0])
  })

  test('at the limit of a key its messages wait at the source, and an alert is raised', async () => {
    const { context, session, alerts } = scene(0)
    const behind = await behindBlocked(blocked(['full', false, 3], ['p', false, 0]), session, context)
    assert.deepEqual([behind('full'), behind('p')], [waits, parked])
    assert.deepEqual(alerts, told)
  })

  test('at the limit of the consumer all of them wait', async () => {
    const { context, session, alerts } = scene(10)
    const behind = await behindBlocked(blocked(['p', false, 0], ['r', true, 0]), session, context)
    assert.deepEqual([behind('p'), behind('r')], [waits, null])
    assert.deepEqual(alerts, told)
  })

  test('workers apply released keys; a stage that only stores sends no query', () => {
    const keys = blocked(['r', true, 0], ['p', false, 0], ['s', true, 0])
    const released = (stage: ConsumerContext['stage']) => releasedKeys(keys, scene(0, stage).context)
    assert.deepEqual(
      [released('inline'), released('work'), released('enqueue')],
      [['r', 's'], ['r', 's'], []],
    )
  })

  const decision = (outcome: Decision['outcome'], failureClass = 'poison'): Decision =>
    ({ ...appliedDecision, outcome, failureClass, status: 'parked', reason: 'because' }) as Decision

  async function cap(total: number, ...given: Decision[]) {
    const { context, session, alerts, asked } = scene(total)
    const decisions = new Map<Received, Decision>(given.map((one, index) => [receivedOf(`${index}`), one]))
    await capParking(decisions, session, context)
    return { decisions: [...decisions.values()], alerts, asked: asked() }
  }

  test('at the limit nothing more is parked: the messages wait at the source', async () => {
    const [poison, behind, applied] = [decision('parked'), decision('parked', 'order'), decision('applied')]
    const retried = {
      outcome: 'retry',
      status: null,
      reason: 'the parking lot is full: because',
      retryDelayMs: 1_000,
    }
    assert.deepEqual(await cap(10, poison, applied, behind), {
      decisions: [{ ...poison, ...retried }, applied, { ...behind, ...retried }],
      alerts: told,
      asked: 1,
    })
    assert.deepEqual(await cap(9, poison), { decisions: [poison], alerts: [], asked: 1 })
  })

  test('messages that only wait behind others need no query', async () => {
    const behind = decision('parked', 'order')
    assert.deepEqual(await cap(10, behind), { decisions: [behind], alerts: [], asked: 0 })
    assert.deepEqual(await cap(10, decision('dead-lettered')), {
      decisions: [decision('dead-lettered')],
      alerts: [],
      asked: 0,
    })
  })

  test('a business key has room below its limit, and parks only while the consumer may', async () => {
    const full = async (waiting: number, parks: boolean, total: number, stage?: ConsumerContext['stage']) => {
      const { context, session, alerts } = scene(total, stage)
      const answer = await keyIsFull(waiting, parks, session, context)
      assert.deepEqual(alerts, answer ? told : [])
      return answer
    }
    assert.equal(await full(2, true, 9), false)
    assert.equal(await full(3, false, 0), true)
    assert.equal(await full(2, false, 10), false)
    assert.equal(await full(2, true, 10), true)
    assert.equal(await full(3, true, 9, 'work'), false)
    assert.equal(await full(3, true, 10, 'work'), true)
  })
})
