import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { until } from 'onceward/testing'
import { createKafkaPublisher } from '../../src/drivers/kafka/kafka-publisher.ts'
import { inKeyOrder } from '../../src/effects/publish/in-key-order.ts'
import { OncewardError } from '../../src/errors.ts'
import { listDestinations } from '../../src/operations/server/destinations.ts'
import { dropStuck, listStuck } from '../../src/operations/stuck-outbox.ts'
import { realEnvironment } from '../../src/runtime/real-environment.ts'
import { type Metrics, type See, unmeasured } from '../../src/telemetry/metrics.ts'
import { readStatus } from '../../src/telemetry/read-status.ts'
import { openKafka } from '../kafka/fixture.ts'
import { People } from '../parking/people.ts'
import { skipWithout } from '../services/services.ts'
import { assertFirstCopiesInOrder, numbered, type OutboxScene, openOutboxScene } from './outbox-scene.ts'

const because = 'it is no longer needed'
const large = 'x'.repeat(30_000)

describe('a message that its broker refuses', await skipWithout('postgres', 'kafka'), () => {
  let scene: OutboxScene
  before(async () => {
    scene = await openOutboxScene()
  })
  after(() => scene.close())

  const putLarge = (broker: string, queue: string, id: string, key: string | null) =>
    scene.pool.query(
      `insert into onceward.outbox (broker, destination, bucket, queue, message_id, key, body)
       values ($1, $1, onceward.outbox_bucket_of($4), $2, $3, $4, convert_to($5, 'UTF8'))`,
      [broker, queue, id, key, large],
    )
  const stuckAt = async (broker: string) =>
    (await listStuck(scene.pool)).filter(({ destination }) => destination === broker)
  const statusOf = async (queue: string) =>
    (await readStatus(scene.pool)).outbox.find(one => one.queue === queue)

  it('Kafka: a limit that was lowered holds the key, visibly, and the raised limit lets it continue', async t => {
    const kafka = await openKafka(t)
    const topic = await kafka.createTopic({ configs: { 'max.message.bytes': '1000000' } })
    await scene.pool.query(`insert into onceward.destination (name, kind) values ('kafka', 'kafka')`)
    await scene.put('kafka', topic, [{ id: 'big-0', key: 'big' }])
    await putLarge('kafka', topic, 'big-1', 'big')
    await scene.put('kafka', topic, [
      { id: 'big-2', key: 'big' },
      { id: 'big-3', key: 'big' },
      ...numbered(3, 4),
    ])
    await kafka.alterTopic(topic, { 'max.message.bytes': '20000' })
    const publisher = createKafkaPublisher({ bootstrap: kafka.bootstrap })
    const gauges = collected()
    const env = { ...realEnvironment(), metrics: gauges.metrics }
    const relay = await scene.start({ broker: 'kafka', publisher, env, leaseMs: 1_000 })
    await until('the others are out', async () => (await statusOf(topic))?.waiting === 3)
    await until('the refusal is noted', async () => (await statusOf(topic))?.failing === 1)

    const [stuck, ...others] = await stuckAt('kafka')
    assert.equal(others.length, 0, 'of a key the first one')
    assert.deepEqual(
      [stuck!.kind, stuck!.messageId, stuck!.key, stuck!.bodyBytes, stuck!.behind],
      ['message', 'big-1', 'big', 30_000, 2],
    )
    const said =
      /^OncewardError: Topic (\S+) accepts 20000 bytes, and this record has (\d+): Kafka refused it with MESSAGE_TOO_LARGE/
    assert.match(stuck!.error!, said)
    const [, named, bytes] = said.exec(stuck!.error!)!
    assert.equal(named, topic)
    assert.ok(Number(bytes) > 30_000 && Number(bytes) < 30_200, bytes)
    const status = await statusOf(topic)
    assert.deepEqual([status!.failing, status!.behind], [1, 2])
    assert.match(status!.lastError!, said)
    const [known] = (await listDestinations(scene.pool)).filter(({ name }) => name === 'kafka')
    assert.deepEqual([known?.stuck, known?.behind], [1, 2])

    await until('it is measured', () => gauges.read('outboxBehind') === 2)
    assert.equal(gauges.read('outboxFailing'), 1)

    await kafka.alterTopic(topic, { 'max.message.bytes': '1000000' })
    await until('all are out', async () => (await scene.left('kafka')) === 0)
    await relay.drain()
    await publisher.close()
    const got = (await kafka.read(topic)).map(({ headers }) => {
      const id = headers['message-id']!
      return { id, key: id.slice(0, id.lastIndexOf('-')) }
    })
    assert.equal(got.length, 16)
    assertFirstCopiesInOrder(got)
    assert.deepEqual(await stuckAt('kafka'), [])
  })

  /** Metrics whose gauges are read when asked. */
  function collected() {
    const reads: Parameters<Metrics['watch']>[1][] = []
    const watch: Metrics['watch'] = (_, read) => {
      reads.push(read)
      return () => {}
    }
    const read = (wanted: string) => {
      let found: number | undefined
      const see: See = (gauge, value) => {
        if (gauge === wanted) found = value
      }
      for (const one of reads) one(see)
      return found
    }
    return { metrics: { ...unmeasured, watch }, read }
  }

  it('is dropped by an operator, with a reason and an audit, and the messages behind it continue', async () => {
    const broker = scene.nextBroker()
    const refusal = new OncewardError('publish_refused', 'too large')
    const sent: string[] = []
    const publisher = inKeyOrder({
      publish: async messages => {
        sent.push(...messages.map(({ messageId }) => messageId))
        return messages.map(({ messageId }) => (messageId === 'k-1' ? refusal : 'confirmed'))
      },
      close: async () => {},
    })
    await scene.put(broker, 'q', [{ id: 'k-0', key: 'k' }])
    await putLarge(broker, 'q', 'k-1', 'k')
    await scene.put(broker, 'q', [
      { id: 'k-2', key: 'k' },
      { id: 'k-3', key: 'k' },
    ])
    const relay = await scene.start({ broker, publisher })
    await until('it is refused', async () => (await stuckAt(broker)).length === 1)
    const [stuck] = await stuckAt(broker)
    const drop = (id: string, messageId: string, why = because) => dropStuck(scene.pool, id, messageId, why)
    await assert.rejects(drop(stuck!.id, 'k-1', ' \u200b'), /Say why/)
    await assert.rejects(drop(stuck!.id, 'k-2'), /another message id/)
    await assert.rejects(drop('999999', 'k-1'), /The outbox has no message 999999/)
    const { rows: behind } = await scene.pool.query(`select id from onceward.outbox where message_id = 'k-2'`)
    await assert.rejects(drop(behind[0].id, 'k-2'), /has not refused row/)
    assert.equal(await scene.left(broker), 3, 'nothing was changed')

    assert.deepEqual(await drop(stuck!.id, 'k-1'), { ok: true, kind: 'message', queue: 'q', behind: 2 })
    await until('the others continue', async () => (await scene.left(broker)) === 0)
    await relay.drain()
    assert.deepEqual(sent.slice(-2), ['k-2', 'k-3'])
    const { rows } = await scene.pool.query(
      `select outcome, subject, reason, detail from onceward.audit where action = 'outbox drop' order by seq`,
    )
    assert.deepEqual(
      rows.map(({ outcome }) => outcome),
      ['refused', 'refused', 'refused', 'refused', 'done'],
    )
    const { subject, reason, detail } = rows.at(-1)
    const { writtenAt, failures, ...facts } = detail
    assert.ok(Date.parse(writtenAt) > 0 && failures > 0)
    assert.deepEqual([subject, reason], [stuck!.id, because])
    assert.deepEqual(facts, {
      messageId: 'k-1',
      kind: 'message',
      destination: broker,
      exchange: null,
      queue: 'q',
      key: 'k',
      error: 'OncewardError: too large',
      bodyBytes: 30_000,
      bodySha256: createHash('sha256').update(large).digest('hex'),
    })
  })

  it('shows the first of each key and every one without a key', async () => {
    const broker = scene.nextBroker()
    await scene.put(broker, 'q', [
      { id: 'a-0', key: 'a' },
      { id: 'a-1', key: 'a' },
      { id: 'b-0', key: 'b' },
      { id: 'n-0' },
      { id: 'n-1' },
    ])
    await scene.put(broker, 'other', [{ id: 'a-2', key: 'a' }])
    await scene.pool.query(
      `update onceward.outbox set failures = 1, last_error = 'no' where destination = $1 and message_id in ('a-0', 'a-1', 'n-0')`,
      [broker],
    )
    assert.deepEqual(
      (await stuckAt(broker)).map(({ messageId, behind }) => [messageId, behind]),
      [
        ['a-0', 1],
        ['n-0', 0],
      ],
    )
    const second = await scene.pool.query(
      `select id from onceward.outbox where destination = $1 and message_id = 'a-1'`,
      [broker],
    )
    await assert.rejects(dropStuck(scene.pool, second.rows[0].id, 'a-1', because), /behind another row/)
  })

  it('is an act of operators, not of processes', async () => {
    const broker = scene.nextBroker()
    await scene.put(broker, 'q', [{ id: 'r-0' }])
    await scene.pool.query('update onceward.outbox set failures = 1 where destination = $1', [broker])
    const [stuck] = await stuckAt(broker)
    await scene.pool.query('select onceward.create_roles()')
    const people = new People(scene.pool, scene.url)
    try {
      const runner = await people.login(['onceward_run'], { person: false })
      await assert.rejects(dropStuck(runner.pool, stuck!.id, 'r-0', because), { code: '42501' })
      const operator = await people.login(['onceward_operator'], { person: true })
      assert.equal(
        (await listStuck(operator.pool)).some(({ messageId }) => messageId === 'r-0'),
        true,
      )
      await dropStuck(operator.pool, stuck!.id, 'r-0', because)
    } finally {
      await people.close()
    }
  })
})
