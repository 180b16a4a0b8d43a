import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import avsc from 'avsc'
import { type ConsumerContract, defineConsumer, realEnvironment, runConsumer } from 'onceward'
import { publishInTransaction } from 'onceward/outbox'
import { createQueue, postgresQueue, publish } from 'onceward/postgres'
import { avroCodec, avroEncoder, confluentRegistry } from 'onceward/schema'
import { createTestEnvironment, until } from 'onceward/testing'
import { readStatus } from '../../src/telemetry/read-status.ts'
import { skipWithout } from '../services/services.ts'
import { type Job, Scene } from '../work/scene.ts'
import { RegistryServer } from './registry-server.ts'

const first = { type: 'record', name: 'Job', fields: [{ name: 'id', type: 'string' }] } as const
const second = {
  ...first,
  fields: [...first.fields, { name: 'size', type: 'int', default: 1 }],
} as const

/** Confluent's form, as any producer would send it. */
function framed(id: number, schema: typeof first | typeof second, body: object): Buffer {
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(id, 1)
  return Buffer.concat([prefix, avsc.Type.forSchema(schema as never).toBuffer(body)])
}

describe('a consumer that reads by a registry', await skipWithout('postgres'), () => {
  let scene: Scene
  let folder: string
  before(async () => {
    scene = await Scene.open()
    folder = await mkdtemp(join(tmpdir(), 'onceward-schemas-'))
  })
  after(async () => {
    await scene.close()
    await rm(folder, { recursive: true, force: true })
  })

  const watched = createTestEnvironment()
  const start = (
    name: string,
    registry: RegistryServer,
    changes: Partial<ConsumerContract<Job>> = {},
    cacheFolder?: string,
  ) => {
    const codec = avroCodec({
      registry: confluentRegistry({ url: registry.url }),
      reader: second,
      timeoutMs: 2_000,
      unknownForMs: 50,
      ...(cacheFolder && { cacheFolder }),
    })
    const consumer = defineConsumer<Job>({
      name,
      owner: 'tests',
      risk: 'money',
      source: postgresQueue(name),
      message: { codec },
      identity: { id: m => m.id },
      failure: { attemptsMax: 2, delayMs: 10, breaker: { failuresMax: 3, pauseMs: 50, pauseMaxMs: 200 } },
      handle: async ({ message, tx }) => {
        const by = (message as unknown as { size: number }).size
        await tx.query('insert into done (consumer, id, by) values ($1, $2, $3)', [name, message.id, by])
      },
      ...changes,
    })
    return runConsumer(consumer, {
      databaseUrl: scene.url,
      schemaLookEveryMs: 100,
      env: { ...realEnvironment(), metrics: watched.metrics, log: watched.log },
    })
  }
  const send = async (name: string, ...bodies: readonly Buffer[]) => {
    await createQueue(scene.pool, name)
    await publish(
      scene.pool,
      name,
      bodies.map(body => ({ body, key: 'one' })),
    )
  }
  const pausedIn = async (name: string) =>
    (await readStatus(scene.pool)).consumers.find(consumer => consumer.name === name)?.pausedBecause ?? null
  const attempts = async (name: string) => {
    const sql = `select count(*)::int from onceward.attempt where consumer_id = (select id from onceward.consumer where name = $1)`
    return (await scene.pool.query(sql, [name])).rows[0].count
  }

  for (const order of ['none', 'key'] as const)
    test(`pauses while the registry is unavailable: no attempt, nothing parked, then all applied (order ${order})`, async () => {
      const name = `away_${order}`
      const registry = await new RegistryServer().start()
      const id = registry.add('jobs-value', first)
      await registry.stop()
      await send(name, ...Array.from({ length: 40 }, (_, n) => framed(id, first, { id: `j${n}` })))
      const keyed = order === 'key' && {
        order,
        source: postgresQueue(name, { keyOrder: true }),
        identity: { id: (m: Job) => m.id, orderKey: () => 'one' },
      }
      const running = await start(name, registry, keyed || {})
      await until('the pause is seen', async () => (await pausedIn(name)) === 'registry_unavailable')
      assert.notEqual(running.consumer!.tally.breaker, 'closed')
      await until('the registry was probed', () =>
        watched.lines.some(
          ({ message, fields }) => /still unavailable/.test(message) && fields?.consumer === name,
        ),
      )
      assert.ok(watched.lines.some(({ fields }) => /ECONNREFUSED/.test(JSON.stringify(fields))))
      assert.deepEqual([await attempts(name), await scene.held(name), await scene.done(name)], [0, [], []])
      await registry.start()
      await until('all are applied', async () => (await scene.done(name)).length === 40)
      if (order === 'key') assert.deepEqual((await scene.done(name)).slice(0, 3), ['j0', 'j1', 'j2'])
      await until('the pause ends', async () => (await pausedIn(name)) === null)
      assert.equal(running.consumer!.tally.breaker, 'closed')
      assert.deepEqual([await attempts(name), await scene.held(name)], [0, []])
      await running.drain()
      await registry.stop()
    })

  test('parks messages of an unknown schema with their bytes, and releases them when it is known', async () => {
    const registry = await new RegistryServer().start()
    const known = registry.add('jobs-value', first)
    const name = 'unknown'
    await send(
      name,
      framed(99, second, { id: 'a', size: 7 }),
      framed(known, first, { id: 'b' }),
      framed(98, first, { id: 'never' }),
    )
    const running = await start(name, registry)
    await until('two are parked', async () => (await scene.held(name)).length === 2)
    await until('the known one is applied', async () => (await scene.done(name)).length === 1)
    const held = await scene.held(name)
    assert.deepEqual(
      held.map(({ state, code }) => `${state} ${code}`),
      ['parked unknown_schema', 'parked unknown_schema'],
    )
    registry.add('jobs-value', second, { id: 99 })
    await until('the released one is applied', async () => (await scene.done(name)).includes('a'))
    const { rows } = await scene.pool.query(`select by from done where consumer = $1 order by id`, [name])
    assert.deepEqual(rows, [{ by: 7 }, { by: 1 }], 'sizes: as sent, and the default of the reader')
    await until('only the other waits', async () => (await scene.held(name)).length === 1)
    const audit = await scene.pool.query(
      `select subject, detail ->> 'rows' as rows from onceward.audit where action = 'schema release'`,
    )
    assert.deepEqual(audit.rows, [{ subject: 'unknown_schema', rows: '1' }])
    await running.drain()
    await registry.stop()
  })

  test('schemas that never become known do not delay others', async () => {
    const registry = await new RegistryServer().start()
    const name = 'starved'
    const never = Array.from({ length: 100 }, (_, n) => framed(1_000 + n, first, { id: `n${n}` }))
    await send(name, ...never)
    const running = await start(name, registry)
    await until('all are parked', async () => (await scene.held(name)).length === 100)
    await send(name, framed(99, first, { id: 'late' }))
    await until('the last one too', async () => (await scene.held(name)).length === 101)
    registry.add('jobs-value', first, { id: 99 })
    await until('it is applied', async () => (await scene.done(name)).length === 1)
    registry.add('jobs-value', first, { id: 1_000 })
    await until('an earlier one is applied', async () => (await scene.done(name)).length === 2)
    await running.drain()
    await registry.stop()
  })

  test('starts without the registry from its folder', async () => {
    const registry = await new RegistryServer().start()
    const id = registry.add('jobs-value', first)
    await send('kept', framed(id, first, { id: 'one' }))
    const one = await start('kept', registry, {}, folder)
    await until('the first is applied', async () => (await scene.done('kept')).length === 1)
    await one.drain()
    await registry.stop()
    await send('kept', framed(id, first, { id: 'two' }))
    const two = await start('kept', registry, {}, folder)
    await until('the second is applied', async () => (await scene.done('kept')).length === 2)
    await two.drain()
  })

  test('publishes by the registry, in the transaction of the effect', async () => {
    const registry = await new RegistryServer().start()
    const source = registry.add('jobs-value', first)
    const encoder = avroEncoder({
      registry: confluentRegistry({ url: registry.url }),
      schema: second,
      registration: 'register',
    })
    await send('publishes', framed(source, first, { id: 'p' }), framed(source, first, { id: 'bad' }))
    const running = await start('publishes', registry, {
      effect: { publish: { sized: { broker: 'cdc', topic: 'sized', encoder } } },
      handle: async ({ message: { id }, tx, effects }) => {
        await tx.query(`insert into done (consumer, id, by) values ('publishes', $1, 1)`, [id])
        const body = id === 'bad' ? { id: 5 } : { id, size: 3 }
        effects.publish('sized', { body, key: id })
      },
    })
    await until('the other is applied', async () => (await scene.done('publishes')).length === 1)
    await until('the wrong one is parked', async () => (await scene.held('publishes')).length === 1)
    const { rows } = await scene.pool.query(
      `select body, properties from onceward.outbox where queue = 'sized'`,
    )
    assert.equal(rows.length, 1)
    assert.deepEqual(
      rows[0].body,
      framed(registry.versions('sized-value') + source, second, { id: 'p', size: 3 }),
    )
    assert.match(JSON.stringify(rows[0].properties), /application\/vnd.apache.avro/)
    await running.drain()
    await registry.stop()
  })

  test('a producer publishes by the registry too', async () => {
    const registry = await new RegistryServer().start()
    const encoder = avroEncoder({
      registry: confluentRegistry({ url: registry.url }),
      schema: first,
      registration: 'lookup',
    })
    const target = { broker: 'cdc', topic: 'own', encoder } as const
    const refused = publishInTransaction(scene.pool, target, [{ id: 'm', body: { id: 'm' } }])
    await assert.rejects(refused, { code: 'schema_refused' })
    const id = registry.add('own-value', first)
    await publishInTransaction(scene.pool, target, [{ id: 'm', body: { id: 'm' } }])
    const { rows } = await scene.pool.query(`select body from onceward.outbox where queue = 'own'`)
    assert.deepEqual(rows, [{ body: framed(id, first, { id: 'm' }) }])
    await registry.stop()
  })
})
