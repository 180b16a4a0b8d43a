import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { runConsumer } from 'onceward'
import { createPool, createQueue, migrate, postgresQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { createPostgresStore } from '../../src/drivers/postgres/store.ts'
import { acceptBroker, listBrokers } from '../../src/operations/server/brokers.ts'
import { acceptServer, readRestore } from '../../src/operations/server/incarnations.ts'
import { listReaders, renameConsumer, separateConsumer } from '../../src/operations/server/names.ts'
import type { BrokerMarks } from '../../src/ports/source.ts'
import { People, refusal } from '../parking/people.ts'
import { createDatabase, skipWithout } from '../services/services.ts'
import { applying, effects, refusalOf } from './scene.ts'

async function open(environment?: string) {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 3 })
  await migrate(pool, { environment })
  await pool.query('create table effect (id text primary key, times integer not null default 1)')
  await createQueue(pool, 'facts')
  return {
    ...database,
    pool,
    effects: async () => Object.values((await pool.query(effects)).rows[0])[0],
    async [Symbol.asyncDispose]() {
      await pool.end()
      await database.drop()
    },
  }
}

describe('a consumer under another name', await skipWithout('postgres'), () => {
  test('is refused with the fix; renamed it keeps its markers, separated it has its own', async () => {
    await using scene = await open()
    const start = (name: string) =>
      runConsumer(applying({ name, source: postgresQueue('facts') }), { databaseUrl: scene.url })
    const send = () => publish(scene.pool, 'facts', [{ body: JSON.stringify({ id: 'a' }) }])
    const running = await start('orders')
    await send()
    await until('applied', async () => (await scene.effects()) === '1 of 1')
    await assert.rejects(renameConsumer(scene.pool, 'orders', 'order_intake', 'too early'), /It is running/)
    await running.drain()

    assert.equal(await refusalOf(start('order_intake')), 'consumer_renamed')
    await assert.rejects(
      renameConsumer(scene.pool, 'orders', 'Order Intake', 'slip'),
      /not a valid consumer name/,
    )
    await renameConsumer(scene.pool, 'orders', 'order_intake', 'the team was renamed')
    const renamed = await start('order_intake')
    await send()
    await until('told', () => renamed.consumer!.tally.outcomes.duplicate === 1)
    await renamed.drain()
    assert.equal(await scene.effects(), '1 of 1')

    assert.equal(await refusalOf(start('orders')), 'consumer_renamed', 'the old name has no memory any more')
    await separateConsumer(scene.pool, 'orders_copy', 'order_intake', 'a second effect on purpose')
    const separate = await start('orders_copy')
    await send()
    await until('applied by both', async () => (await scene.effects()) === '1 of 2')
    await separate.drain()
    assert.deepEqual(
      (await listReaders(scene.pool)).map(one => one.consumer),
      ['order_intake', 'orders_copy'],
    )
  })
})

describe('a broker of another environment', await skipWithout('postgres'), () => {
  test('is refused where the database belongs to a named one, until an operator adds it; elsewhere it is logged', async () => {
    await using scene = await open('staging')
    const store = createPostgresStore({ pool: scene.pool })
    await store.registry!.registerBroker({ kind: 'kafka', cluster: 'staging-1' })
    await store.registry!.registerBroker({ kind: 'rabbitmq', cluster: 'rabbit@staging' })
    await store.registry!.registerBroker({ kind: 'kafka', cluster: 'staging-1' })
    await assert.rejects(store.registry!.registerBroker({ kind: 'kafka', cluster: 'production-1' }), {
      code: 'wrong_environment',
    })
    await acceptBroker(scene.pool, 'kafka', 'production-1', 'moved to a new cluster')
    await store.registry!.registerBroker({ kind: 'kafka', cluster: 'production-1' })
    assert.equal((await listBrokers(scene.pool)).length, 3)

    await using unnamed = await open()
    const warnings: unknown[] = []
    const log = { debug() {}, info() {}, error() {}, warn: (...said: unknown[]) => void warnings.push(said) }
    const beside = createPostgresStore({ pool: unnamed.pool, log })
    await beside.registry!.registerBroker({ kind: 'kafka', cluster: 'one' })
    await beside.registry!.registerBroker({ kind: 'kafka', cluster: 'two' })
    assert.equal(warnings.length, 1)
  })
})

describe('which RabbitMQ feeds a database of a named environment', await skipWithout('postgres'), () => {
  const rabbit = (cluster: string, marks: BrokerMarks, virtualHost = '/') => ({
    kind: 'rabbitmq',
    cluster,
    virtualHost,
    marks,
  })
  const other = { code: 'wrong_environment' }

  test('any node of the marked cluster, no other cluster, under any name', async () => {
    await using scene = await open('production')
    const registerBroker = meeting({ pool: scene.pool })
    const [ours, theirs] = [exchanges(), exchanges()]
    await registerBroker(rabbit('rabbit@a', ours))
    assert.equal(ours.names.size, 1, 'one exchange marks it')
    for (const node of ['rabbit@b', 'rabbit@c', 'rabbit@a']) await registerBroker(rabbit(node, ours))
    assert.deepEqual(
      (await listBrokers(scene.pool)).map(({ cluster }) => cluster),
      ['rabbit@a'],
    )
    await assert.rejects(registerBroker(rabbit('rabbit@staging', theirs)), other)
    await assert.rejects(registerBroker(rabbit('rabbit@b', theirs)), other, 'the same name is no proof')
    assert.equal(theirs.names.size, 0, 'nothing is declared where it is refused')
    await acceptBroker(scene.pool, 'rabbitmq', 'rabbit@staging', 'belongs here too')
    await registerBroker(rabbit('rabbit@staging', theirs))
    await registerBroker(rabbit('rabbit@staging-2', theirs))
  })

  test('another virtual host of it: by a known name, or by the mark in one that the user may enter', async () => {
    await using scene = await open('production')
    const registerBroker = meeting({ pool: scene.pool })
    const first = exchanges()
    await registerBroker(rabbit('rabbit@a', first))
    const second = { ...exchanges(), hasIn: async (_: string, name: string) => first.has(name) }
    await registerBroker(rabbit('rabbit@b', second, 'orders'))
    await registerBroker(rabbit('rabbit@a', exchanges(), 'known'))
    const locked = { ...exchanges(), hasIn: async () => null }
    await assert.rejects(registerBroker(rabbit('rabbit@c', locked, 'third')), other)
  })

  test('without the right to a mark: a set name decides, and a node name halts no consumer', async () => {
    await using scene = await open('production')
    const warnings: unknown[] = []
    const log = { debug() {}, info() {}, error() {}, warn: (...said: unknown[]) => void warnings.push(said) }
    const registerBroker = meeting({ pool: scene.pool, log })
    const locked = { has: async () => null, put: async () => false }
    await registerBroker(rabbit('rabbit@a', locked))
    await registerBroker(rabbit('rabbit@b', locked))
    assert.match(JSON.stringify(warnings), /without proof it counts as the known cluster.*set_cluster_name/)
    await using named = await open('production')
    const strict = { registerBroker: meeting({ pool: named.pool }) }
    await strict.registerBroker(rabbit('eu-1', locked))
    await strict.registerBroker(rabbit('eu-1', locked))
    await assert.rejects(strict.registerBroker(rabbit('eu-2', locked)), other)
  })

  test('processes that register its nodes concurrently agree', async () => {
    await using scene = await open('production')
    const registerBroker = meeting({ pool: scene.pool })
    const marks = exchanges()
    await Promise.all(Array.from({ length: 8 }, (_, n) => registerBroker(rabbit(`rabbit@${n}`, marks))))
    assert.equal((await listBrokers(scene.pool)).length, 1)
  })
})

const meeting = (options: Parameters<typeof createPostgresStore>[0]) =>
  createPostgresStore(options).registry!.registerBroker

/** A broker's exchanges. */
function exchanges(...given: string[]): BrokerMarks & { readonly names: Set<string> } {
  const names = new Set(given)
  return { names, has: async name => names.has(name), put: async name => names.add(name).has(name) }
}

describe('who may accept a broker', await skipWithout('postgres'), () => {
  test('a consumer detects it and cannot accept it; an operator can, without rights on the tables', async () => {
    await using scene = await open()
    await scene.pool.query('select onceward.create_roles()')
    const people = new People(scene.pool, scene.url)
    try {
      const runner = await people.login(['onceward_run'], { person: false })
      const operator = await people.login(['onceward_operator'], { person: true })
      await scene.pool.query('update onceward.server_incarnation set timeline = timeline + 1')
      const store = createPostgresStore({ pool: runner.pool })
      await assert.rejects(store.ping(), { code: 'server_changed' })
      for (const act of [
        `accept_incarnation(2, 'mine')`,
        `rename_consumer('a', 'b', 'mine')`,
        `separate_reader('a', 'b', 'mine')`,
        `accept_broker('kafka', 'x', 'mine')`,
      ])
        assert.match(await refusal(runner.pool, `select onceward.${act}`), /^42501/)
      assert.match(await refusal(runner.pool, 'delete from onceward.server_incarnation'), /^42501/)
      assert.match(await refusal(operator.pool, 'delete from onceward.server_incarnation'), /^42501/)
      const { open: waits } = await readRestore(operator.pool)
      await acceptServer(operator.pool, Number(waits!.id), 'looked at')
      const { incarnations } = await readRestore(operator.pool)
      assert.equal(incarnations[0]?.acceptedBy, operator.name)
      await store.ping()
    } finally {
      await people.close()
    }
  })
})
