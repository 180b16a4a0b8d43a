import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { topic } from 'onceward/kafka'
import { createPool, createQueue, migrate, postgresQueue } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { defineConsumer, runConsumer } from '../../src/index.ts'
import { openKafka, randomName } from '../kafka/fixture.ts'
import { createDatabase, skipWithout } from '../services/services.ts'

describe('a start that fails', await skipWithout('postgres'), () => {
  test('reports its cause although a worker was to be started with it', { timeout: 120_000 }, async t => {
    const database = await createDatabase()
    t.after(() => database.drop())
    const pool = createPool(database.url, { max: 1 })
    await migrate(pool)
    await createQueue(pool, 'failed_start')
    await pool.query('alter table onceward.run rename to elsewhere')
    await pool.end()
    const consumer = defineConsumer<{ id: string }>({
      name: 'failed_start',
      owner: 'tests',
      risk: 'projection',
      source: postgresQueue('failed_start'),
      identity: { id: message => message.id },
      failure: { mode: 'defer' },
      handle: async () => {},
    })
    await assert.rejects(runConsumer(consumer, { databaseUrl: database.url }), /onceward\.run/)
  })
})

describe('a start that fails after the reader has begun', await skipWithout('postgres', 'kafka'), () => {
  test('leaves no reader that keeps its partitions', { timeout: 120_000 }, async t => {
    await using cleanup = new AsyncDisposableStack()
    const database = await createDatabase()
    cleanup.defer(() => database.drop())
    const pool = createPool(database.url, { max: 1 })
    cleanup.defer(() => pool.end())
    await migrate(pool)
    await pool.query(`
      create function only_one() returns trigger language plpgsql as $$
        begin if exists (select from onceward.run) then raise exception 'one is enough'; end if; return new; end $$;
      create trigger only_one before insert on onceward.run for each row execute function only_one()`)
    const kafka = await openKafka(t)
    const name = await kafka.createTopic({ name: randomName('failed-start'), partitions: 1 })
    await kafka.createTopic({ name: `${name}.retry.100` })
    const handled: string[] = []
    const consumer = defineConsumer<{ id: string }>({
      name: 'failed_start',
      owner: 'tests',
      risk: 'projection',
      source: topic(name, { start: 'earliest', group: name }),
      identity: { id: message => message.id },
      failure: { mode: 'retry topic', delayMs: 100, delayMaxMs: 100 },
      handle: async ({ message }) => void handled.push(message.id),
    })
    const options = { databaseUrl: database.url, kafkaBootstrap: kafka.bootstrap }
    await assert.rejects(runConsumer(consumer, options), /one is enough/)
    await pool.query('drop trigger only_one on onceward.run')
    const running = await runConsumer(consumer, options)
    cleanup.defer(() => running.drain(5_000))
    await kafka.produce(name, [{ value: JSON.stringify({ id: 'm-1' }), key: 'k', partition: 0 }])
    await until('the new one reads', () => handled.length === 1)
  })
})
