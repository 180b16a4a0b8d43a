import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { defineConsumer, reject, runConsumer, type SqlTransaction } from 'onceward'
import { topic } from 'onceward/kafka'
import { runRelay } from 'onceward/outbox'
import { until } from 'onceward/testing'
import { openKafka, randomName, type TestKafka } from '../kafka/fixture.ts'
import { startPrivateKafka } from '../kafka/private-kafka.ts'
import { skipWithout } from '../services/services.ts'
import { openScene, type Scene } from './scene.ts'

const count = 20

describe('two Kafka clusters, one database', await skipWithout('postgres', 'kafka'), () => {
  it('retries, dead letters and messages stay in their cluster under equal topic names', {
    timeout: 240_000,
  }, async t => {
    const other = await startPrivateKafka()
    const scene = await openScene()
    const ends: (() => Promise<unknown>)[] = []
    t.after(async () => {
      for (const end of ends.reverse()) await end()
      await scene.close()
    })
    const clusters = { here: await openKafka(t), there: await openKafka(t, other.bootstrap) }
    t.after(() => other.close())
    await scene.pool.query('create table effect (cluster text, id text)')
    const name = randomName('topic')
    for (const [cluster, kafka] of Object.entries(clusters)) {
      for (const suffix of ['', '.retry.100', '.retry.200', '.out', '.dead'])
        await kafka.createTopic({ name: `${name}${suffix}` })
      const running = await run(scene, cluster, kafka, name)
      ends.push(() => running.drain())
    }
    const beside = await runRelay({
      databaseUrl: scene.url,
      kafkaBootstrap: clusters.here.bootstrap,
      brokers: ['kafka'],
    })
    ends.push(() => beside.drain())
    for (const [cluster, kafka] of Object.entries(clusters))
      await kafka.produce(
        name,
        Array.from({ length: count }, (_, n) => JSON.stringify({ id: `${cluster}-${n}` })),
      )
    const done = async (sql: string) => (await scene.pool.query(sql)).rows[0].n as number
    const applied = count - count / 10
    await until(
      'all are applied and out',
      async () =>
        (await done('select count(*)::int as n from effect')) >= 2 * applied &&
        (await done('select count(*)::int as n from onceward.outbox')) === 0,
      { deadlineMs: 120_000 },
    )
    for (const [cluster, kafka] of Object.entries(clusters)) {
      const { rows } = await scene.pool.query('select id from effect where cluster = $1', [cluster])
      assert.equal(rows.length, applied)
      const read = async (suffix: string) => [
        ...new Set(
          (await kafka.read(`${name}${suffix}`)).map(({ value }) => JSON.parse(value!).id as string),
        ),
      ]
      for (const [suffix, expected] of [
        ['.out', applied],
        ['.dead', count - applied],
      ] as const) {
        const found = await read(suffix)
        assert.equal(found.length, expected)
        assert.ok(found.every(id => id.startsWith(`${cluster}-`)))
      }
    }
  })
})

function run(scene: Scene, cluster: string, kafka: TestKafka, name: string) {
  const tried = new Set<string>()
  const consumer = defineConsumer<{ id: string }, SqlTransaction, never, 'out'>({
    name: `kafka_${cluster}`,
    owner: 'tests',
    risk: 'money',
    source: topic(name, { start: 'earliest', bootstrap: kafka.bootstrap, group: `${name}.${cluster}` }),
    identity: { id: m => m.id },
    failure: {
      mode: 'retry topic',
      delayMs: 100,
      delayMaxMs: 200,
      deadLetter: `${name}.dead`,
      breaker: false,
    },
    effect: { publish: { out: { broker: 'kafka', topic: `${name}.out` } } },
    async handle({ message, tx, effects }) {
      assert.ok(message.id.startsWith(`${cluster}-`))
      const n = Number(message.id.split('-')[1])
      if (n % 10 === 9) return reject('every tenth is refused')
      if (n % 2 === 1 && !tried.has(message.id)) {
        tried.add(message.id)
        throw new Error('not yet')
      }
      await tx.query('insert into effect values ($1, $2)', [cluster, message.id])
      effects.publish('out', { body: { id: message.id } })
      return undefined
    },
  })
  return runConsumer(consumer, { databaseUrl: scene.url })
}
