import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type ConsumerContract, defineConsumer, type Mode, runConsumer, type SqlTransaction } from 'onceward'
import { createQueue, postgresQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { skipWithout } from '../../services/services.ts'
import { openRig, quick, type Rig } from './rig.ts'

describe('an inline call', await skipWithout('postgres'), () => {
  let rig: Rig

  before(async () => {
    rig = await openRig()
    await rig.scene.pool.query('create table quote (id text primary key, answer text)')
  })
  after(() => rig.close())

  async function run(
    handle: ConsumerContract<{ id: string }, SqlTransaction>['handle'],
    target: object = {},
    mode: Mode = 'live',
  ) {
    const name = rig.nextConsumer()
    await createQueue(rig.scene.pool, name)
    const client = await rig.scene.pool.connect()
    await publish(client, name, [{ messageId: name, body: Buffer.from(JSON.stringify({ id: name })) }])
    client.release()
    const consumer = defineConsumer<{ id: string }, SqlTransaction>({
      name,
      owner: 'tests',
      risk: 'money',
      source: postgresQueue(name),
      identity: { id: m => m.id },
      effect: { external: { quotes: { url: rig.gateway.url, allowPrivate: true, ...quick, ...target } } },
      failure: { attemptsMax: 3, delayMs: 1, delayMaxMs: 2 },
      handle: handle!,
    })
    const running = await runConsumer(consumer, { databaseUrl: rig.scene.url, parts: ['consumer'], mode })
    await until('it is decided', () => {
      const { applied = 0, parked = 0 } = running.consumer!.tally.outcomes
      return applied + parked === 1 || running.consumer!.state === 'halted'
    })
    const { outcomes } = running.consumer!.tally
    await running.drain().catch(() => {})
    const { rows } = await rig.scene.pool.query('select answer from quote where id = $1', [name])
    return {
      name,
      outcomes,
      answers: rows.map(row => row.answer as string),
      calls: rig.gateway.callsFor(name),
    }
  }

  const store: ConsumerContract<{ id: string }, SqlTransaction>['handle'] = async ({
    message,
    tx,
    effects,
  }) => {
    const answer = await effects.call('quotes', { key: message.id, body: message })
    await tx.query('insert into quote values ($1, $2)', [
      message.id,
      answer && Buffer.from(answer.body).toString(),
    ])
  }

  it('answers the handler, under the stable key, and leaves no ledger row', async () => {
    const { name, answers, calls, outcomes } = await run(store)
    assert.deepEqual([answers, outcomes.applied], [['{"charged":true}'], 1])
    assert.deepEqual(
      calls.map(call => call.key),
      [name],
    )
    assert.deepEqual(await rig.scene.states(name), {})
  })

  it('is made again with the same key and bytes when the batch rolls back after it', async () => {
    let times = 0
    const { calls, answers } = await run(async context => {
      await store!(context)
      if (++times === 1) throw new Error('after the call')
    })
    assert.deepEqual([calls.length, new Set(calls.map(call => call.body)).size, answers.length], [2, 1, 1])
  })

  it('that fails is a failed attempt of the message, and nothing is written', async () => {
    const { answers, outcomes, calls } = await run(store, { url: 'http://127.0.0.1:1/' })
    assert.deepEqual([answers, outcomes.parked, calls.length], [[], 1, 0])
  })

  it('is not made in a rebuild: the handler gets null', async () => {
    const { answers, calls } = await run(store, {}, 'rebuild')
    assert.deepEqual([answers, calls.length], [[null], 0])
  })

  it('is refused for a target that keeps no keys', async () => {
    const target = { keyHeader: null, policy: 'at most once' }
    const { answers, calls, outcomes } = await run(store, target)
    assert.deepEqual([answers, calls.length, outcomes.applied ?? 0], [[], 0, 0])
  })
})
