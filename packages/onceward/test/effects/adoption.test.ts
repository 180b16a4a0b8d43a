import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { publishInTransaction } from 'onceward/outbox'
import { until } from 'onceward/testing'
import { declareDestination } from '../../src/drivers/postgres/destinations.ts'
import { writeOutbox } from '../../src/drivers/postgres/sql/write-outbox.ts'
import type { Outgoing } from '../../src/ports/outgoing.ts'
import { skipWithout } from '../services/services.ts'
import { type OutboxScene, openOutboxScene } from './outbox-scene.ts'

describe('rows for a kind of broker', await skipWithout('postgres'), () => {
  let scene: OutboxScene
  before(async () => {
    scene = await openOutboxScene()
  })
  after(() => scene.close())

  it('a row that commits after the relay started is not overtaken by the next of its key', async () => {
    const target = { broker: 'kafka', topic: 'orders' } as const
    const early = await scene.pool.connect()
    await early.query('begin')
    await publishInTransaction(early, target, [{ id: 'o-0', key: 'o', body: {} }])
    const destination = await declareDestination(scene.pool, { kind: 'kafka', cluster: 'main' })
    // It looks for rows of the bare kind now, and after 20 s again.
    const relay = await scene.start({ broker: 'kafka', destination, leaseMs: 60_000 })
    await until('it has buckets', () => relay.tally.buckets === 32)
    await early.query('commit')
    early.release()
    await publishInTransaction(scene.pool, target, [{ id: 'o-1', key: 'o', body: {} }])
    await until('both are out', async () => (await scene.arrivals('orders')).length === 2)
    assert.deepEqual(
      (await scene.arrivals('orders')).map(({ id }) => id),
      ['o-0', 'o-1'],
    )
    await relay.drain()
  })

  it('messages for two kinds in one statement go each to its own', async () => {
    await declareDestination(scene.pool, { kind: 'rabbitmq', cluster: 'main', virtualHost: 'shop' })
    const rest = { exchange: null, key: null, headers: '{}', properties: '{}', body: Buffer.alloc(0) }
    const message = (broker: string): Outgoing =>
      ({ ...rest, broker, queue: 'mixed', messageId: broker }) as Outgoing
    await writeOutbox(scene.pool, ['rabbitmq', 'kafka', 'postgres', 'cdc'].map(message))
    const { rows } = await scene.pool.query(
      `select broker, destination from onceward.outbox where queue = 'mixed' order by id`,
    )
    assert.deepEqual(
      rows.map(row => `${row.broker} ${row.destination}`),
      ['rabbitmq rabbitmq:main/shop', 'kafka kafka:main', 'postgres postgres', 'cdc cdc'],
    )
  })
})
