import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { until } from 'onceward/testing'
import type { CallOutcome, CustomTarget, TargetRequest } from '../../../src/contract/external-target.ts'
import { bytesDigest } from '../../../src/message/digest.ts'
import { skipWithout } from '../../services/services.ts'
import { openRig, type Rig } from './rig.ts'

describe('a target with a call of its own', await skipWithout('postgres'), () => {
  let rig: Rig

  before(async () => {
    rig = await openRig()
  })
  after(() => rig.close())

  async function settle(call: CustomTarget['call'], policy: CustomTarget['policy'] = 'keyed') {
    const consumer = rig.nextConsumer()
    const key = `${consumer}-doc`
    const requests: TargetRequest[] = []
    await rig.scene.intend(consumer, [key])
    const dispatcher = await rig.startWith(consumer, {
      kind: 'custom',
      policy: policy!,
      attemptsMax: 3,
      timeoutMs: 400,
      retryDelayMs: 1,
      retryDelayMaxMs: 5,
      call: (request, context) => {
        requests.push(request)
        return call(request, context)
      },
    })
    await until('it settles', async () => (await rig.scene.row(consumer, key)).due === 'infinity')
    await dispatcher.drain()
    return { row: await rig.scene.row(consumer, key), requests, key }
  }

  it('gets the key, the bytes and the number of the attempt, and reports the outcome', async () => {
    const response = Buffer.from('version 7')
    const outcomes: CallOutcome[] = [
      { result: 'retryable', note: 'busy' },
      { result: 'completed', note: 'holds version 7', response },
    ]
    const { row, requests, key } = await settle(async () => outcomes.shift()!)
    assert.deepEqual([row.state, row.last_error], ['completed', 'holds version 7'])
    assert.deepEqual(row.response_digest, bytesDigest(response))
    assert.deepEqual(
      requests.map(({ key, attempt, contentType, body }) => [key, attempt, contentType, String(body)]),
      [1, 2].map(attempt => [key, attempt, 'application/json', `{"capture":"${key}"}`]),
    )
  })

  it('may have happened when it throws, answers with garbage or does not answer', async () => {
    const troubles: CustomTarget['call'][] = [
      async () => {
        throw new Error('reset')
      },
      async () => ({ result: 'perhaps' }) as never,
      async () => undefined as never,
      () => new Promise(() => {}),
      () => {
        throw new Error('at once')
      },
    ]
    for (const trouble of troubles) {
      const { row, requests } = await settle(trouble, 'at most once')
      assert.deepEqual([row.state, requests.length], ['unknown', 1], row.last_error!)
    }
  })

  it('is aborted at its deadline', async () => {
    let aborted = false
    await settle(
      (_, { signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => {
            aborted = true
            reject(signal.reason)
          }),
        ),
      'manual',
    )
    assert.equal(aborted, true)
  })

  it('may refuse permanently', async () => {
    const { row, requests } = await settle(async () => ({
      result: 'failed',
      note: 'a newer version is there',
    }))
    assert.deepEqual([row.state, requests.length], ['failed', 1])
  })

  it('may ask for an invalid pause: it is tried again, and other results are recorded', async () => {
    for (const retryAfterMs of [Number.NaN, 'soon', {}, -5, Number.POSITIVE_INFINITY] as number[]) {
      const outcomes: CallOutcome[] = [{ result: 'retryable', retryAfterMs }, { result: 'completed' }]
      const { row } = await settle(async ({ attempt }) =>
        retryAfterMs === Number.POSITIVE_INFINITY
          ? { result: 'failed', retryAfterMs }
          : outcomes[attempt - 1]!,
      )
      assert.equal(row.due, 'infinity')
    }
  })
})
