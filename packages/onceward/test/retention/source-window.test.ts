import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { connect } from 'amqplib'
import { topic } from 'onceward/kafka'
import { queue } from 'onceward/rabbitmq'
import { stream } from 'onceward/rabbitmq-stream'
import { until } from 'onceward/testing'
import { readSourceWindow } from '../../src/runtime/source-window.ts'
import { openKafka } from '../kafka/fixture.ts'
import { rabbitmqManagementUrl, rabbitmqUrl, skipWithout } from '../services/services.ts'

const day = 86_400_000

describe('how long Kafka may redeliver a record', await skipWithout('kafka'), () => {
  test('is the retention of the topic and of its segments, or unlimited', async t => {
    const kafka = await openKafka(t)
    const name = await kafka.createTopic()
    const window = () => readSourceWindow(topic(name), { kafkaBootstrap: kafka.bootstrap })
    const by = `retention.ms and segment.ms of topic ${name}`
    await kafka.alterTopic(name, { 'retention.ms': String(3 * day), 'segment.ms': String(day) })
    await until('the broker knows', async () => {
      const found = await window()
      return 'ms' in found && found.ms === 4 * day && found.by === by
    })
    await kafka.alterTopic(name, { 'retention.ms': '-1' })
    await until('the broker knows', async () => {
      const found = await window()
      return 'ms' in found && found.ms === Number.POSITIVE_INFINITY
    })
  })

  test('is unknown for a missing topic', async t => {
    const { bootstrap } = await openKafka(t)
    const found = await readSourceWindow(topic(`absent-${randomBytes(4).toString('hex')}`), {
      kafkaBootstrap: bootstrap,
    })
    assert.ok('unknown' in found)
  })
})

describe('how long RabbitMQ may redeliver a message', await skipWithout('rabbitmq'), () => {
  test('is the TTL of the queue or the max-age of the stream', async () => {
    const url = await rabbitmqUrl()
    const managementUrl = await rabbitmqManagementUrl()
    const connection = await connect(url)
    const channel = await connection.createChannel()
    const names = ['ttl', 'plain', 'aged', 'endless'].map(name => `${name}-${randomBytes(4).toString('hex')}`)
    const [ttl, plain, aged, endless] = names as [string, string, string, string]
    const quorum = { 'x-queue-type': 'quorum' }
    const log = { 'x-queue-type': 'stream' }
    await channel.assertQueue(ttl, { arguments: { ...quorum, 'x-message-ttl': 5 * day } })
    await channel.assertQueue(plain, { arguments: quorum })
    await channel.assertQueue(aged, { arguments: { ...log, 'x-max-age': '7D' } })
    await channel.assertQueue(endless, { arguments: log })
    const access = { rabbitmqUrl: url }
    const ofQueue = (name: string) => readSourceWindow(queue(name, { managementUrl: managementUrl! }), access)
    const ofStream = (name: string) => readSourceWindow({ ...stream(name), managementUrl } as never, access)
    assert.deepEqual(await ofQueue(ttl), { ms: 5 * day, by: `the message TTL of queue ${ttl}` })
    assert.match(JSON.stringify(await ofQueue(plain)), /has no message TTL/)
    assert.deepEqual(await ofStream(aged), { ms: 7 * day, by: `the max-age of stream ${aged}` })
    assert.equal(((await ofStream(endless)) as { ms: number }).ms, Number.POSITIVE_INFINITY)
    const streamUrl = url.replace('amqp:', 'rabbitmq-stream:')
    const elsewhere = { rabbitmqUrl: 'amqp://nobody:wrong@localhost/absent' }
    const own = { ...stream(aged, { url: streamUrl }), managementUrl }
    assert.deepEqual(await readSourceWindow(own as never, elsewhere), await ofStream(aged))
    const given = { ...elsewhere, rabbitmqStreamUrl: streamUrl }
    assert.deepEqual(await readSourceWindow({ ...own, url: undefined } as never, given), await ofStream(aged))
    for (const name of names) await channel.deleteQueue(name)
    await connection.close()
  })
})
