import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { describe, test } from 'node:test'
import { KafkaConnections } from '../../src/drivers/kafka/client/connections.ts'
import { troubleOf, troubleOfCode } from '../../src/drivers/kafka/client/kafka-error.ts'
import { listOffsets } from '../../src/drivers/kafka/client/list-offsets.ts'
import type { OncewardError } from '../../src/errors.ts'
import { until } from '../../src/testing/until.ts'
import { startTcpProxy } from '../proxy/tcp-proxy.ts'
import { skipWithout } from '../services/services.ts'
import { openKafka, randomName } from './fixture.ts'

const coded = (code: OncewardError['code'], says: RegExp) => (error: OncewardError) => {
  assert.equal(error.code, code, error.message)
  assert.match(error.message, says)
  return true
}

describe('a bootstrap list', () => {
  for (const bootstrap of [
    '',
    'kafka',
    'kafka:',
    ':9092',
    'kafka:0',
    'kafka:99999',
    'a:1,',
    'kafka://a:1',
    'a:1;b:1',
    'u:p@a:1',
  ]) {
    test(`${JSON.stringify(bootstrap)} is refused before anything is opened`, () => {
      assert.throws(() => new KafkaConnections({ bootstrap }), coded('configuration', /Nothing was opened/))
    })
  }

  test('a password in it is not repeated', () => {
    const bootstrap = 'alice:secret@kafka:9092'
    const check = (error: OncewardError) => !error.message.includes('secret')
    assert.throws(() => new KafkaConnections({ bootstrap }), check)
  })

  test('names, addresses and spaces between them are taken', async () => {
    for (const bootstrap of ['a:1', ' kafka-1.example:9092 , 10.0.0.1:9092', '[::1]:9092'])
      await new KafkaConnections({ bootstrap }).close()
  })

  test('an unknown SASL mechanism is refused too', () => {
    const sasl = { mechanism: 'GSSAPI', username: 'a', password: 'b' } as never
    assert.throws(
      () => new KafkaConnections({ bootstrap: 'a:1', sasl }),
      coded('configuration', /SCRAM-SHA-512/),
    )
  })

  test('without a listening broker is unreachable, which may pass', async t => {
    const connections = new KafkaConnections({ bootstrap: '127.0.0.1:1' })
    t.after(() => connections.close())
    await assert.rejects(connections.check(), coded('broker_unreachable', /ECONNREFUSED.*Nothing was read/))
  })
})

test('a broker older than 4.0 is refused by name of what it lacks', async t => {
  const server = createServer(socket => {
    socket.on('error', () => {})
    socket.on('data', request => {
      const answer = Buffer.alloc(14 + 16 * 6)
      answer.writeInt32BE(answer.length - 4, 0)
      answer.writeInt32BE(request.readInt32BE(8), 4)
      answer.writeInt32BE(16, 10)
      ;[0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 18, 22, 23, 26, 28].forEach((key, index) => {
        answer.writeInt16BE(key, 14 + index * 6)
        answer.writeInt16BE(key === 0 || key === 26 ? 4 : 99, 18 + index * 6)
      })
      socket.write(answer)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as { port: number }
  const connections = new KafkaConnections({ bootstrap: `127.0.0.1:${port}` })
  await assert.rejects(
    connections.check(),
    coded('configuration', /Produce v12, EndTxn v5\. Nothing was read.*Kafka 4\.0 or newer/),
  )
  await connections.close()
})

test('a broker that resets a refused connection does not end the process', async t => {
  let reset = 0
  const server = createServer(socket => {
    socket.on('error', () => {})
    socket.on('close', () => reset++)
    socket.on('data', request => {
      const isHandshake = request.readInt16BE(4) === 17
      const answer = Buffer.alloc(isHandshake ? 14 : 18)
      answer.writeInt32BE(answer.length - 4, 0)
      answer.writeInt32BE(request.readInt32BE(8), 4)
      if (isHandshake) answer.writeInt16BE(33, 8)
      socket.write(answer, () => isHandshake && setImmediate(() => socket.resetAndDestroy()))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const bootstrap = `127.0.0.1:${(server.address() as { port: number }).port}`
  const sasl = { mechanism: 'PLAIN', username: 'a', password: 'b' } as const
  const connections = new KafkaConnections({ bootstrap, sasl })
  for (let round = 1; round <= 20; round++) {
    await assert.rejects(connections.check(), coded('configuration', /mechanism/))
    await until('it was reset', () => reset === round)
  }
  await connections.close()
})

test('errors are distinguished by the remedy', () => {
  const seen = [3, 6, 14, 16, 22, 25, 29, 35, 47, 51, 90, 10].map(code => {
    const { name, kind, retriable } = troubleOfCode(code)
    return `${name} ${kind} ${retriable}`
  })
  assert.deepEqual(seen, [
    'UNKNOWN_TOPIC_OR_PARTITION topic true',
    'NOT_LEADER_OR_FOLLOWER leader true',
    'COORDINATOR_LOAD_IN_PROGRESS coordinator true',
    'NOT_COORDINATOR coordinator true',
    'ILLEGAL_GENERATION member false',
    'UNKNOWN_MEMBER_ID member false',
    'TOPIC_AUTHORIZATION_FAILED credentials false',
    'UNSUPPORTED_VERSION version false',
    'INVALID_PRODUCER_EPOCH fenced false',
    'CONCURRENT_TRANSACTIONS busy true',
    'PRODUCER_FENCED fenced false',
    'MESSAGE_TOO_LARGE record false',
  ])
})

describe('a cluster', await skipWithout('kafka'), () => {
  test('topics have ids that change when they are created again', async t => {
    const kafka = await openKafka(t)
    const name = await kafka.createTopic({ partitions: 3 })
    const before = await kafka.connections.describeTopic(name)
    assert.deepEqual(
      before.partitions.map(({ partition, leader, leaderEpoch }) => [partition, leader, leaderEpoch]),
      [0, 1, 2].map(partition => [partition, before.partitions[0]!.leader, 0]),
    )
    await kafka.recreateTopic(name)
    const after = await kafka.connections.describeTopic(name)
    assert.notEqual(after.id, before.id)
    await kafka.addPartitions(name, 2)
    assert.equal((await kafka.connections.describeTopic(name)).partitions.length, 2)
  })

  test('a missing topic is a configuration error, and null in a lookup', async t => {
    const { connections } = await openKafka(t)
    const name = randomName()
    assert.equal(await connections.findTopic(name), null)
    await assert.rejects(connections.describeTopic(name), coded('configuration', new RegExp(name)))
    await assert.rejects(connections.leaderOf(name, 0), coded('configuration', /Create the topic/))
  })

  test('offsets are found by place and by time, and end before an open transaction', async t => {
    const kafka = await openKafka(t)
    const topic = await kafka.createTopic({ partitions: 2 })
    await kafka.produce(topic, [
      { value: 'a', partition: 0, timestampMs: 1_000 },
      { value: 'b', partition: 0, timestampMs: 2_000 },
      { value: 'c', partition: 0, timestampMs: 3_000 },
    ])
    const open = await kafka.transaction(topic)
    await open.send({ value: 'd', partition: 0 })
    await kafka.deleteRecords(topic, 0, 1)
    const at = async (where: Parameters<typeof listOffsets>[3], isolation: 'committed' | 'uncommitted') =>
      (await listOffsets(kafka.connections, topic, [0, 1], where, { isolation })).map(({ offset }) => offset)
    assert.deepEqual(await at('earliest', 'committed'), [1n, 0n])
    assert.deepEqual(await at('latest', 'committed'), [3n, 0n])
    assert.deepEqual(await at('latest', 'uncommitted'), [4n, 0n])
    assert.deepEqual(await at({ timestampMs: 2_500 }, 'uncommitted'), [2n, null])
    await open.abort()
    await until('the end moves', async () => (await at('latest', 'committed'))[0] === 5n)
  })

  test('a silent broker costs the time-out of that request, and closing does not wait for it', async t => {
    const kafka = await openKafka(t)
    const [host, port] = kafka.bootstrap.split(':')
    const proxy = await startTcpProxy({ host: host!, port: Number(port) })
    t.after(() => proxy.close())
    const connections = new KafkaConnections({ bootstrap: `127.0.0.1:${proxy.port}` }, { meta: 300 })
    proxy.toClient(() => null)
    const error = await connections.check().catch(caught => caught)
    assert.equal(error.code, 'broker_unreachable')
    assert.equal(troubleOf(error.cause).kind, 'network')
    proxy.pause()
    const asked = connections.check().catch(caught => caught)
    const started = performance.now()
    await connections.close()
    assert.ok(performance.now() - started < 5_000)
    assert.equal((await asked).code, 'broker_unreachable')
  })
})
