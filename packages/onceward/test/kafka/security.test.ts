import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { OncewardError } from '../../src/errors.ts'
import type { KafkaConnectionOptions } from '../../src/sources/kafka/client/connection-options.ts'
import { KafkaConnections } from '../../src/sources/kafka/client/connections.ts'
import { KafkaProducer } from '../../src/sources/kafka/client/producer.ts'
import { skipWithout } from '../services/services.ts'
import { openKafka } from './fixture.ts'
import { type PrivateKafka, startPrivateKafka } from './private-kafka.ts'

/** An unsecured token, as brokers take them for tests. */
const token = (subject: string, lifeSeconds = 600) => {
  const now = Math.floor(Date.now() / 1_000)
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'none' })}.${part({ sub: subject, iat: now - 5, exp: now + lifeSeconds })}.`
}

const record = (topic: string) => ({ topic, key: null, value: Buffer.from('x'), headers: [], timestampMs: 1 })

describe('who may connect', await skipWithout('kafka'), () => {
  let broker: PrivateKafka
  before(async () => {
    broker = await startPrivateKafka({ security: true })
  })
  after(() => broker.close())

  /** Connects, and writes where that is allowed. */
  const tries = async (options: KafkaConnectionOptions, topic?: string) => {
    const connections = new KafkaConnections(options)
    try {
      await connections.check()
      if (topic === undefined) return null
      const [result] = await new KafkaProducer(connections).send([record(topic)])
      return result
    } finally {
      await connections.close()
    }
  }

  const refused = (options: KafkaConnectionOptions, says: RegExp) =>
    assert.rejects(
      () => tries(options),
      (error: OncewardError) => {
        assert.equal(error.code, 'configuration', error.message)
        assert.match(error.message, says)
        assert.match(error.message, /Nothing was read, written or committed/)
        assert.doesNotMatch(error.message, /secret/)
        return true
      },
    )

  for (const mechanism of ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const) {
    test(`${mechanism}: the right password enters, the wrong one is a configuration error`, async t => {
      const topic = await (await openKafka(t, broker.bootstrap)).createTopic()
      const bootstrap = broker.listeners.sasl
      const sasl = { mechanism, username: 'alice', password: 'alice-secret' }
      assert.deepEqual(await tries({ bootstrap, sasl }, topic), { topic, partition: 0, offset: 0n })
      const asked = { ...sasl, password: async () => 'alice-secret' }
      assert.deepEqual(await tries({ bootstrap, sasl: asked }, topic), { topic, partition: 0, offset: 1n })
      await refused({ bootstrap, sasl: { ...sasl, password: 'other-secret' } }, /credentials/)
      await refused({ bootstrap, sasl: { ...sasl, username: 'nobody' } }, /credentials/)
    })
  }

  test('OAUTHBEARER: the token is asked for, an expired one is a configuration error', async t => {
    const topic = await (await openKafka(t, broker.bootstrap)).createTopic()
    const bootstrap = broker.listeners.sasl
    const mechanism = 'OAUTHBEARER'
    const good = { mechanism, token: async () => token('alice') } as const
    assert.deepEqual(await tries({ bootstrap, sasl: good }, topic), { topic, partition: 0, offset: 0n })
    await refused({ bootstrap, sasl: { mechanism, token: () => token('alice', -100) } }, /invalid_token/)
    await refused({ bootstrap, sasl: { mechanism, token: () => 'nonsense' } }, /invalid_token/)
    const failing = () => Promise.reject(new Error('the issuer is away'))
    await assert.rejects(
      tries({ bootstrap, sasl: { mechanism, token: failing } }),
      (error: OncewardError) => {
        assert.equal(error.code, 'broker_unreachable', 'it may be back later')
        return /the issuer is away/.test(error.message)
      },
    )
  })

  test('a user without permission is told which one is missing, and nothing is stored', async t => {
    const kafka = await openKafka(t, broker.bootstrap)
    const topic = await kafka.createTopic()
    const bootstrap = broker.listeners.sasl
    const sasl = { mechanism: 'PLAIN', username: 'mallory', password: 'mallory-secret' } as const
    const result = await tries({ bootstrap, sasl }, topic)
    assert.ok(result instanceof OncewardError)
    assert.equal(result.code, 'configuration')
    assert.match(result.message, /TOPIC_AUTHORIZATION_FAILED/)
    assert.deepEqual(await kafka.read(topic), [])
  })

  test('TLS: the given authority and name are checked', async () => {
    const bootstrap = broker.listeners.tls
    const { ca } = broker.certificates
    assert.equal(await tries({ bootstrap, tls: { ca } }), null)
    assert.equal(await tries({ bootstrap, tls: { ca, servername: 'kafka.test' } }), null)
    await refused({ bootstrap, tls: true }, /authority/)
    await refused({ bootstrap, tls: { ca, servername: 'elsewhere.test' } }, /TLS/)
    await refused({ bootstrap }, /TLS/)
  })

  test('TLS both ways: a broker that asks for our certificate refuses us without it', async () => {
    const bootstrap = broker.listeners.mtls
    const { ca, client } = broker.certificates
    assert.equal(await tries({ bootstrap, tls: { ca, ...client } }), null)
    await assert.rejects(tries({ bootstrap, tls: { ca } }), /TLS|broke/)
  })

  test('a listener that wants SASL closes on those who have none: the error names the possibility', async () => {
    await assert.rejects(tries({ bootstrap: broker.listeners.sasl }), /needs no TLS or SASL/)
  })
})
