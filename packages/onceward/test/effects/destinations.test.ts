import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { publishInTransaction } from 'onceward/outbox'
import { declareDestination, findDestination } from '../../src/drivers/postgres/destinations.ts'
import { openConnection } from '../../src/drivers/rabbitmq/connection.ts'
import { identityOf } from '../../src/drivers/rabbitmq/identity.ts'
import type { BrokerMarks } from '../../src/ports/source.ts'
import { createVirtualHost, type TestVirtualHost } from '../rabbitmq/virtual-host.ts'
import { skipWithout } from '../services/services.ts'
import { openScene, type Scene } from './scene.ts'

describe('destinations', await skipWithout('postgres', 'rabbitmq'), () => {
  let scene: Scene
  before(async () => {
    scene = await openScene()
  })
  after(() => scene.close())

  const reach = async (t: TestContext, host: TestVirtualHost) => {
    const connection = await openConnection(host.url, 'tests')
    t.after(() => connection.close(2_000))
    return identityOf(connection, host.url)
  }
  const find = (broker: Parameters<typeof findDestination>[1], was: string | null = null) =>
    findDestination(scene.pool, broker, was)

  it('another node of the same cluster is the same destination, another virtual host is another', async t => {
    const [one, two] = await Promise.all([createVirtualHost(t), createVirtualHost(t)])
    const first = await reach(t, one!)
    const name = await find({ ...first, cluster: 'rabbit@node-1' })
    assert.equal(name, `rabbitmq:rabbit@node-1/${one!.name}`)
    assert.equal(await find({ ...first, cluster: 'rabbit@node-2' }), name)
    assert.equal(await find({ ...first, cluster: 'named later' }), name)
    const second = await reach(t, two!)
    assert.equal(await find({ ...second, cluster: 'rabbit@node-1' }), `rabbitmq:rabbit@node-1/${two!.name}`)
  })

  it('two clusters differ, also where the definitions of one were copied to the other', async t => {
    const host = await createVirtualHost(t)
    const broker = await reach(t, host)
    const east = await find({ ...broker, cluster: 'east' })
    assert.equal(await find({ ...broker, cluster: 'west' }), `rabbitmq:west/${host.name}`)
    assert.equal(await find({ ...broker, cluster: 'east' }), east)
    const other = await find({ ...broker, cluster: 'rabbit@elsewhere', marks: elsewhere() })
    assert.equal(other, `rabbitmq:rabbit@elsewhere/${host.name}`)
  })

  it('two clusters that announce the same name and virtual host are two destinations', async t => {
    const host = await createVirtualHost(t)
    const broker = await reach(t, host)
    for (const cluster of ['rabbit@same', 'same']) {
      const one = await find({ ...broker, cluster })
      const marks = elsewhere()
      const other = await find({ ...broker, cluster, marks })
      assert.notEqual(other, one)
      assert.equal(await find({ ...broker, cluster, marks }, other), other, 'each is recognised again')
      assert.equal(await find({ ...broker, cluster }), one)
    }
  })

  it('without the right to a mark, another node behind the same address is the same destination', async () => {
    const marks = { has: async () => false, put: async () => false }
    const broker = { kind: 'rabbitmq', virtualHost: 'locked', marks }
    const name = await find({ ...broker, cluster: 'rabbit@a' })
    assert.equal(await find({ ...broker, cluster: 'rabbit@b' }, name), name)
    assert.notEqual(await find({ ...broker, cluster: 'rabbit@c' }), name)
  })

  it('without the right to a mark, clusters of a set name are distinguished by it', async () => {
    const marks = { has: async () => null, put: async () => false }
    const broker = { kind: 'rabbitmq', virtualHost: 'locked-2', marks }
    const name = await find({ ...broker, cluster: 'north' })
    assert.equal(await find({ ...broker, cluster: 'north' }), name)
    assert.notEqual(await find({ ...broker, cluster: 'south' }, name), name)
  })

  it('processes that register a cluster concurrently agree', async t => {
    const host = await createVirtualHost(t)
    const broker = await reach(t, host)
    const names = await Promise.all(
      Array.from({ length: 6 }, (_, n) => find({ ...broker, cluster: `rabbit@race-${n}` })),
    )
    assert.equal(new Set(names).size, 1)
  })
})

/** The exchanges of another broker. */
function elsewhere(): BrokerMarks {
  const marks = new Set<string>()
  return { has: async name => marks.has(name), put: async name => marks.add(name).has(name) }
}

describe('a producer without an address', await skipWithout('postgres'), () => {
  const target = { broker: 'kafka', topic: 'events' } as const
  const write = async (scene: Scene, id: string, destination?: string) => {
    const to = destination === undefined ? target : { ...target, destination }
    await publishInTransaction(scene.pool, to, [{ id, body: {} }])
  }
  const written = async (scene: Scene) => {
    const { rows } = await scene.pool.query('select message_id, destination from onceward.outbox order by id')
    return rows.map(row => `${row.message_id} ${row.destination}`)
  }

  it('writes to the only destination of its kind, waits for the first one, and must name one of several', async t => {
    const scene = await openScene()
    t.after(() => scene.close())
    await write(scene, 'early')
    assert.deepEqual(await written(scene), ['early kafka'])
    await declareDestination(scene.pool, { kind: 'kafka', cluster: 'main' })
    await scene.pool.query(`select onceward.adopt_outbox('kafka:main')`)
    await write(scene, 'known')
    assert.deepEqual(await written(scene), ['early kafka:main', 'known kafka:main'])
    await declareDestination(scene.pool, { kind: 'kafka', cluster: 'second' })
    await assert.rejects(
      write(scene, 'which'),
      /several kafka destinations \(kafka:main, kafka:second\).*Set destination in the publish target/,
    )
    await write(scene, 'named', 'kafka:second')
    assert.equal((await written(scene)).at(-1), 'named kafka:second')
    await assert.rejects(
      write(scene, 'wrong', 'rabbitmq:main/x'),
      /destination must name a kafka destination/,
    )
  })

  it('rows of the bare kind are not adopted once there are several destinations', async t => {
    const scene = await openScene()
    t.after(() => scene.close())
    await write(scene, 'early')
    for (const cluster of ['main', 'second']) await declareDestination(scene.pool, { kind: 'kafka', cluster })
    await scene.pool.query(`select onceward.adopt_outbox('kafka:main')`)
    assert.deepEqual(await written(scene), ['early kafka'])
    const { rows } = await scene.pool.query('select destination, waiting from onceward.outbox_unserved')
    assert.deepEqual(rows, [{ destination: 'kafka', waiting: 1 }])
  })
})
