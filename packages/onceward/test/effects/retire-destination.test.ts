import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { publishInTransaction } from 'onceward/outbox'
import { until } from 'onceward/testing'
import { declareDestination } from '../../src/drivers/postgres/destinations.ts'
import { listDestinations, retireDestination } from '../../src/operations/server/destinations.ts'
import { People } from '../parking/people.ts'
import { skipWithout } from '../services/services.ts'
import { type OutboxScene, openOutboxScene } from './outbox-scene.ts'

const because = 'the cluster was replaced'

describe('a destination that is retired', await skipWithout('postgres'), () => {
  let scene: OutboxScene
  before(async () => {
    scene = await openOutboxScene()
  })
  after(() => scene.close())

  const target = { broker: 'kafka', topic: 'events' } as const
  const write = (id: string, destination?: string) =>
    publishInTransaction(scene.pool, { ...target, ...(destination && { destination }) }, [
      { id, key: 'k', body: {} },
    ])
  const retire = (name: string, to: string | null, why = because) =>
    retireDestination(scene.pool, name, to, why)

  it('passes its waiting messages on in order, and producers need not name a destination any more', async () => {
    await write('k-0')
    for (const cluster of ['old', 'new']) await declareDestination(scene.pool, { kind: 'kafka', cluster })
    await write('k-1', 'kafka:old')
    await assert.rejects(write('k-2'), /several kafka destinations/)
    assert.deepEqual(
      (await listDestinations(scene.pool)).map(({ name, relays, waiting }) => [name, relays, waiting]),
      [
        ['kafka', 0, 1],
        ['kafka:new', 0, 0],
        ['kafka:old', 0, 1],
      ],
    )
    assert.deepEqual({ ...(await retire('kafka', 'kafka:new')) }, { ok: true, moved: 1 })
    assert.deepEqual({ ...(await retire('kafka:old', 'kafka:new')) }, { ok: true, moved: 1 })
    await write('k-2')
    const relay = await scene.start({ broker: 'kafka', destination: 'kafka:new' })
    await until('all are out', async () => (await scene.arrivals('events')).length === 3)
    assert.deepEqual(
      (await scene.arrivals('events')).map(({ id }) => id),
      ['k-0', 'k-1', 'k-2'],
    )
    const { rows } = await scene.pool.query(
      `select subject, reason, detail from onceward.audit where action = 'destinations retire' and outcome = 'done' order by seq`,
    )
    assert.deepEqual(rows.at(-1), {
      subject: 'kafka:old',
      reason: because,
      detail: { to: 'kafka:new', moved: 1 },
    })
    await assert.rejects(retire('kafka:new', null), /A relay is connected to "kafka:new"/)
    await relay.drain()
  })

  it('is refused where messages would have no place, or would change the kind of broker', async () => {
    await declareDestination(scene.pool, { kind: 'rabbitmq', cluster: 'one', virtualHost: 'v' })
    await write('waits', 'kafka:typo')
    await assert.rejects(retire('kafka:typo', null), /Messages wait for it/)
    await assert.rejects(retire('kafka:typo', 'rabbitmq:one/v'), /not another known kafka destination/)
    await assert.rejects(retire('kafka:typo', 'kafka:nowhere'), /not another known kafka destination/)
    await assert.rejects(retire('kafka:typo', 'kafka:new', ' '), /Say why/)
    await assert.rejects(retire('kafka:never', null), /There is no destination "kafka:never"/)
    await assert.rejects(retire('postgres', null), /There is no destination "postgres"/)
    const { rows } = await scene.pool.query(
      `select destination from onceward.outbox where message_id = 'waits'`,
    )
    assert.deepEqual(rows, [{ destination: 'kafka:typo' }])
  })

  it('is an act of operators, not of processes', async () => {
    await scene.pool.query('select onceward.create_roles()')
    const people = new People(scene.pool, scene.url)
    try {
      const runner = await people.login(['onceward_run'], { person: false })
      await assert.rejects(retireDestination(runner.pool, 'kafka:typo', 'kafka:new', because), {
        code: '42501',
      })
      const operator = await people.login(['onceward_operator'], { person: true })
      await retireDestination(operator.pool, 'kafka:typo', 'kafka:new', because)
    } finally {
      await people.close()
    }
  })
})
