import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { defineConsumer, type Running, runConsumer } from 'onceward'
import { createKafkaPublisher, topic } from 'onceward/kafka'
import { createPool, migrate } from 'onceward/postgres'
import { avroCodec, avroEncoder, confluentRegistry, type SchemaSource } from 'onceward/schema'
import { until } from 'onceward/testing'
import { openKafka, randomName } from '../../packages/onceward/test/kafka/fixture.ts'
import { RegistryServer } from '../../packages/onceward/test/schema/registry-server.ts'
import { createDatabase, skipWithout } from '../../packages/onceward/test/services/services.ts'
import { firstReadingSchema, readingSchema } from './messages.ts'
import { meterReadings } from './meter-readings.ts'

describe('meter readings in Avro', await skipWithout('postgres', 'kafka'), () => {
  it('of both versions are summed once, with the registry unavailable, back, and behind', async t => {
    const scene = await openScene(t)
    await scene.send(firstReadingSchema, { id: 'r1', meter: 'a', value: 1 })
    await scene.send(readingSchema, { id: 'r2', meter: 'a', value: 0.2, unit: 'MWh' })
    const first = await scene.start()
    await until('both are summed', async () => (await scene.meter('a')).readings === 2)
    assert.equal((await scene.meter('a')).kwh, 201)
    await until('the alarm arrives', () => scene.alarms.length === 1)
    assert.deepEqual(scene.alarms, [{ meter: 'a', value: 200 }])
    await first.drain()

    await scene.send(readingSchema, { id: 'r3', meter: 'a', value: 1, unit: 'kWh' })
    const later = { ...readingSchema, doc: 'the third version' }
    await scene.send(later, { id: 'r4', meter: 'b', value: 1, unit: 'kWh' })
    await scene.registry.stop()
    const second = await scene.start()
    await until('it waits for the third version', () => second.consumer!.tally.breaker !== 'closed')
    await scene.registry.start()
    await until('all are summed', async () => (await scene.meter('b')).readings === 1)
    assert.deepEqual(await scene.meter('a'), { kwh: 202, readings: 3 })

    await scene.sendUnknown({ id: 'r5', meter: 'c', value: 1, unit: 'kWh' })
    await until('it is parked', async () => (await scene.held()).join() === 'parked unknown_schema')
    scene.registry.add('late', { ...readingSchema, doc: 'late' }, { id: 77 })
    await until('it is released', async () => (await scene.meter('c')).readings === 1)
    assert.deepEqual(await scene.held(), [])
    await second.drain()
  })
})

async function openScene(t: TestContext) {
  const kafka = await openKafka(t)
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 4 })
  const schemaFolder = await mkdtemp(join(tmpdir(), 'onceward-example-'))
  const registry = await new RegistryServer().start()
  const running = new Set<Running>()
  await migrate(pool)
  await pool.query(readFileSync(new URL('tables.sql', import.meta.url), 'utf8'))
  const readings = await kafka.createTopic({ partitions: 1 })
  const alarms = await kafka.createTopic({ partitions: 1 })
  const publisher = createKafkaPublisher({ bootstrap: kafka.bootstrap })
  t.after(async () => {
    for (const one of running) {
      one.leave()
      await one.finished.catch(() => {})
    }
    await publisher.close()
    await registry.stop()
    await pool.end()
    await database.drop()
    await rm(schemaFolder, { recursive: true, force: true })
  })
  const access = confluentRegistry({ url: registry.url })
  const group = randomName('group')
  const sendBytes = (id: string, key: string, body: Uint8Array) =>
    publisher.publish([{ queue: readings, messageId: id, key, body: Buffer.from(body) }])
  const encode = (schema: object, reading: Reading, registration: 'register' | { id: number; guid: null }) =>
    avroEncoder({ registry: access, schema, registration }).encode(reading, {
      ...{ broker: 'kafka', topic: readings, id: reading.id, type: undefined, key: reading.meter },
    })
  const arrived: object[] = []
  const addresses = { databaseUrl: database.url, kafkaBootstrap: kafka.bootstrap }
  running.add(await runConsumer(alarmReader(alarms, access, arrived), addresses))
  return {
    registry,
    alarms: arrived,
    async send(schema: object, reading: Reading) {
      const { body } = await encode(schema, reading, 'register')
      await sendBytes(reading.id, reading.meter, body)
    },
    async sendUnknown(reading: Reading) {
      const { body } = await encode(readingSchema, reading, { id: 77, guid: null })
      await sendBytes(reading.id, reading.meter, body)
    },
    async start() {
      const settings = { readings, alarms, group, registryUrl: registry.url, schemaFolder }
      const one = await runConsumer(meterReadings(settings), { ...addresses, schemaLookEveryMs: 100 })
      running.add(one)
      return one
    },
    async meter(name: string): Promise<{ kwh: number; readings: number }> {
      const { rows } = await pool.query('select kwh, readings from meter where meter = $1', [name])
      return rows[0] ?? { kwh: 0, readings: 0 }
    },
    async held(): Promise<string[]> {
      const { rows } = await pool.query(`select state::text || ' ' || code as held from onceward.held`)
      return rows.map(row => row.held)
    },
  }
}

/** What the control room would run. */
function alarmReader(alarms: string, registry: SchemaSource, arrived: object[]) {
  return defineConsumer<object>({
    name: 'alarm_reader',
    owner: 'control room',
    risk: 'notification',
    source: topic(alarms, { group: randomName('group'), start: 'earliest' }),
    message: { codec: avroCodec({ registry }) },
    identity: { id: { property: 'messageId' } },
    handle: async ({ message }) => void arrived.push({ ...message }),
  })
}

interface Reading {
  readonly id: string
  readonly meter: string
  readonly value: number
  readonly unit?: string
}
