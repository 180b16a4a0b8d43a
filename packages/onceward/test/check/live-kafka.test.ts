import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { topic } from 'onceward/kafka'
import { createPool, migrate } from 'onceward/postgres'
import { until } from 'onceward/testing'
import type { Finding } from '../../src/review/rule.ts'
import { kafkaRules } from '../../src/review/rules/kafka.ts'
import { kafkaOutletRules } from '../../src/review/rules/outlets.ts'
import { openKafka, type TestKafka } from '../kafka/fixture.ts'
import { createDatabase, skipWithout } from '../services/services.ts'
import { consumerWith } from './contract-pairs.ts'
import { liveFindings, Seen } from './live-scene.ts'

const seen = new Seen()
const day = 86_400_000

/** A broker needs a moment to tell of a changed configuration. */
async function settled(look: () => Promise<readonly Finding[]>, id: string, speaks: boolean) {
  let found: readonly Finding[] = []
  await until(`${id} ${speaks ? 'speaks' : 'is silent'}`, async () => {
    found = await look()
    return found.some(one => one.id === id) === speaks
  })
  return found
}

describe('check --live on Kafka', await skipWithout('kafka', 'postgres'), () => {
  const looking =
    (kafka: TestKafka, name: string, changes = {}) =>
    () =>
      liveFindings(
        [consumerWith({ source: topic(name, { start: 'earliest' }), replay: { window: '3d' }, ...changes })],
        {
          kafkaBootstrap: kafka.bootstrap,
        },
      )

  test('a topic is missing, and the query does not create it; then it exists', async t => {
    const kafka = await openKafka(t)
    const name = `check.${randomBytes(4).toString('hex')}`
    const first = await looking(kafka, name)()
    assert.equal(await kafka.connections.findTopic(name), null)
    await kafka.createTopic({ name, partitions: 2 })
    seen.note('OW301', first, await looking(kafka, name)())
  })

  test('topics that are written to are missing, then exist', async t => {
    const kafka = await openKafka(t)
    const name = await kafka.createTopic({ partitions: 2 })
    const [dead, done] = [`${name}.dead`, `${name}.done`]
    const look = looking(kafka, name, {
      failure: { deadLetter: dead },
      effect: { publish: { done: { broker: 'kafka', topic: done } } },
    })
    const first = await look()
    assert.deepEqual(
      first.filter(one => one.id === 'OW314').map(one => one.found),
      [
        `effect.publish.done: topic ${done} does not exist`,
        `failure.deadLetter: topic ${dead} does not exist`,
      ],
    )
    for (const missing of [dead, done]) await kafka.createTopic({ name: missing })
    const last = await look()
    seen.note('OW314', first, last)
    assert.ok(
      last.every(one => one.id !== 'OW309'),
      'only that they exist is asked',
    )
  })

  test('a topic that is named like a broker takes nothing away from it', async t => {
    const kafka = await openKafka(t)
    const [broker] = await kafka.connections.brokers()
    const name = await kafka.createTopic({ name: String(broker!.id), configs: { 'retention.ms': '-1' } })
    await settled(looking(kafka, name), 'OW308', true)
  })

  test('configurations are wrong, then fixed', async t => {
    const kafka = await openKafka(t)
    const name = await kafka.createTopic({ partitions: 2 })
    const look = looking(kafka, name, { replay: { window: '5d' }, retention: { sourceKeeps: '30d' } })
    const cases: readonly [string, Record<string, string>, Record<string, string>][] = [
      ['OW302', { 'cleanup.policy': 'compact' }, { 'cleanup.policy': 'delete' }],
      ['OW303', { 'retention.ms': String(day) }, { 'retention.ms': String(6 * day) }],
      ['OW307', { 'unclean.leader.election.enable': 'true' }, { 'unclean.leader.election.enable': 'false' }],
      ['OW312', { 'message.timestamp.type': 'CreateTime' }, { 'message.timestamp.type': 'LogAppendTime' }],
      ['OW315', { 'cleanup.policy': 'compact' }, { 'cleanup.policy': 'delete' }],
      ['OW313', { 'retention.bytes': '1048576' }, { 'retention.bytes': '-1' }],
      ['OW308', { 'retention.ms': '-1' }, { 'retention.ms': String(day), 'segment.ms': String(day) }],
    ]
    for (const [id, wrong, right] of cases) {
      await kafka.alterTopic(name, wrong)
      const first = await settled(look, id, true)
      await kafka.alterTopic(name, right)
      seen.note(id, first, await settled(look, id, false))
    }
  })

  test('more in-sync replicas are required than exist, then fewer', async t => {
    const kafka = await openKafka(t)
    const name = await kafka.createTopic({ configs: { 'min.insync.replicas': '2' } })
    const look = looking(kafka, name)
    const first = await settled(look, 'OW306', true)
    await kafka.alterTopic(name, { 'min.insync.replicas': '1' })
    seen.note('OW306', first, await settled(look, 'OW306', false))
    assert.ok(first.some(one => one.id === 'OW304') && first.some(one => one.id === 'OW305'))
  })

  test('a topic has one partition, then three', async t => {
    const kafka = await openKafka(t)
    const name = await kafka.createTopic()
    const first = await looking(kafka, name)()
    await kafka.addPartitions(name, 3)
    seen.note('OW309', first, await looking(kafka, name)())
  })

  test('records have no key, or one key has most of them; then neither', async t => {
    const kafka = await openKafka(t)
    const name = await kafka.createTopic({ partitions: 3 })
    const identity = { id: () => '1', businessKey: () => '1', orderKey: () => 'k' }
    const look = looking(kafka, name, { order: 'key', identity })
    const send = (count: number, keyOf: (index: number) => string | null) =>
      kafka.produce(
        name,
        Array.from({ length: count }, (_, index) => ({
          value: `v${index}`,
          key: keyOf(index),
          partition: index % 3,
        })),
      )
    await send(60, () => null)
    const keyless = await look()
    await send(300, index => (index % 5 === 0 ? `k${index}` : 'everybody'))
    const lopsided = await look()
    assert.ok(keyless.some(one => one.id === 'OW310'))
    assert.match(lopsided.find(one => one.id === 'OW311')!.found, /one key has \d\d %/)
    assert.doesNotMatch(JSON.stringify(lopsided), /everybody/, 'keys may be personal')
    await send(900, index => `key ${index}`)
    const even = await look()
    seen.note('OW310', keyless, even)
    seen.note('OW311', lopsided, even)
  })

  test("marker retention is compared with the topic's retention", async t => {
    const kafka = await openKafka(t)
    const name = await kafka.createTopic({
      configs: { 'retention.ms': String(20 * day), 'segment.ms': String(day) },
    })
    const changes = { retention: { markers: '14d' }, replay: { window: '1d' } }
    const first = await looking(kafka, name, changes)()
    assert.match(
      first.find(one => one.id === 'OW501')!.found,
      /markers are kept for 14d, retention\.ms .* 21d/,
    )
    await kafka.alterTopic(name, { 'retention.ms': String(10 * day) })
    await settled(looking(kafka, name, changes), 'OW501', false)
  })

  test('the cluster is another than the one that feeds the database, then that one', async t => {
    const kafka = await openKafka(t)
    const name = await kafka.createTopic({ partitions: 2 })
    const database = await createDatabase()
    const pool = createPool(database.url)
    t.after(async () => {
      await pool.end()
      await database.drop()
    })
    await migrate(pool, { environment: 'test' })
    const look = () =>
      liveFindings([consumerWith({ source: topic(name, { start: 'earliest' }) })], {
        kafkaBootstrap: kafka.bootstrap,
        databaseUrl: database.url,
        environment: 'test',
      })
    await pool.query(`insert into onceward.broker (kind, cluster) values ('kafka', 'of production')`)
    const found = (await look()).find(one => one.id === 'OW510')!.found
    const cluster = /the kafka cluster is "([^"]+)"/.exec(found)![1]
    await pool.query('update onceward.broker set cluster = $1', [cluster])
    assert.ok((await look()).every(one => one.id !== 'OW510'))
  })

  test('an unreachable cluster is a finding', async () => {
    const consumer = consumerWith({ source: topic('t', { bootstrap: '127.0.0.1:1' }) })
    const found = await liveFindings([consumer], {})
    assert.deepEqual(
      found.filter(one => one.id === 'OW901').map(one => one.place),
      ['127.0.0.1:1'],
    )
  })

  test('every rule over Kafka reported a finding and no finding, where one broker can show it', () => {
    const oneBroker = 'more than one replica needs more than one broker: shown on facts in rules.test.ts'
    const ids = [...kafkaRules, ...kafkaOutletRules].map(rule => rule.id)
    assert.deepEqual(seen.missing(ids, { OW304: oneBroker, OW305: oneBroker }), [])
  })
})
