import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createAclsV3 } from '@platformatic/kafka'
import {
  consumerParts,
  defineConsumer,
  realEnvironment,
  runConsumer,
  type SqlTransaction,
  withPolicy,
} from 'onceward'
import { topic } from 'onceward/kafka'
import { publishInTransaction, runRelay } from 'onceward/outbox'
import { createPool, createQueue, migrate, postgresQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { readPolicy } from '../../src/contract/policy/read-policy.ts'
import { brokerSecurity } from '../../src/drivers/broker-security.ts'
import type { KafkaConnectionOptions } from '../../src/drivers/kafka/client/connection-options.ts'
import { KafkaConnections } from '../../src/drivers/kafka/client/connections.ts'
import { KafkaProducer } from '../../src/drivers/kafka/client/producer.ts'
import { OncewardError } from '../../src/errors.ts'
import { listStuck } from '../../src/operations/stuck-outbox.ts'
import { startTlsFront } from '../proxy/tls-front.ts'
import { createDatabase, skipWithout } from '../services/services.ts'
import { openKafka } from './fixture.ts'
import { type PrivateKafka, startPrivateKafka } from './private-kafka.ts'

/** An unsecured token, as brokers take them for tests. */
const token = (subject: string, lifeSeconds = 600) => {
  const now = Math.floor(Date.now() / 1_000)
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'none' })}.${part({ sub: subject, iat: now - 5, exp: now + lifeSeconds })}.`
}

const record = (topic: string) => ({ topic, key: null, value: Buffer.from('x'), headers: [], timestampMs: 1 })

const aclOperation = { write: 4 } as const

/** Gives a user one right to a topic, and what Kafka gives with it. */
async function allow(bootstrap: string, topic: string, user: string, operation: 4): Promise<void> {
  const connections = new KafkaConnections({ bootstrap })
  try {
    const [node] = await connections.brokers()
    const acl = {
      resourceType: 2,
      resourceName: topic,
      resourcePatternType: 3,
      principal: `User:${user}`,
      host: '*',
      operation,
      permissionType: 3,
    } as const
    await createAclsV3.api.async(await connections.connect('meta', node!), [acl])
  } finally {
    await connections.close()
  }
}

describe('authentication and authorisation', await skipWithout('kafka'), () => {
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

  const refused = (
    options: KafkaConnectionOptions,
    says: RegExp,
    state = /Nothing was read, written or committed/,
  ) =>
    assert.rejects(
      () => tries(options),
      (error: OncewardError) => {
        assert.equal(error.code, 'configuration', error.message)
        assert.match(error.message, says)
        assert.match(error.message, state)
        assert.doesNotMatch(error.message, /secret/)
        return true
      },
    )

  for (const mechanism of ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const) {
    test(`${mechanism}: the right password is accepted, the wrong one is a configuration error`, async t => {
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

  test('OAUTHBEARER: the token is requested, an expired one is a configuration error', async t => {
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

  test('the error names a missing permission, and nothing is stored', async t => {
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

  test('a user that may write to a topic and not read its limit publishes under the default limit, with one warning', async t => {
    const kafka = await openKafka(t, broker.bootstrap)
    const topic = await kafka.createTopic({ configs: { 'max.message.bytes': '20000' } })
    await allow(broker.bootstrap, topic, 'mallory', aclOperation.write)
    const database = await createDatabase()
    const pool = createPool(database.url, { max: 2 })
    const said: unknown[] = []
    const env = realEnvironment()
    const info = (line: string, fields?: Readonly<Record<string, unknown>>) => {
      if (line.startsWith('max.message.bytes')) said.push(fields?.reason)
    }
    await migrate(pool)
    await createQueue(pool, 'in')
    const consumer = defineConsumer<{ id: string; bytes: number }, SqlTransaction, never, 'out'>({
      name: 'may_write',
      owner: 'tests',
      risk: 'projection',
      source: postgresQueue('in'),
      identity: { id: m => m.id },
      effect: { publish: { out: { broker: 'kafka', topic } } },
      handle: ({ message: { id, bytes }, effects }) =>
        effects.publish('out', { id, key: id, body: Buffer.alloc(bytes) }),
    })
    const running = await runConsumer(consumer, {
      databaseUrl: database.url,
      kafkaBootstrap: broker.listeners.sasl,
      kafkaSasl: { mechanism: 'PLAIN', username: 'mallory', password: 'mallory-secret' },
      env: { ...env, log: { ...env.log, info } },
    })
    t.after(async () => {
      await running.drain(10_000)
      await pool.end()
      await database.drop()
    })
    await publish(pool, 'in', [{ body: JSON.stringify({ id: 'small', bytes: 10 }) }])
    await until('it is out', async () => (await kafka.read(topic)).length === 1, { deadlineMs: 60_000 })
    await publish(pool, 'in', [{ body: JSON.stringify({ id: 'large', bytes: 30_000 }) }])
    await until('the topic refuses it', async () => (await listStuck(pool)).length === 1)
    const [stuck] = await listStuck(pool)
    assert.match(stuck!.error!, /does not accept 30\d{3} bytes: Kafka refused it with MESSAGE_TOO_LARGE/)
    assert.equal(said.length, 1)
    assert.match(String(said[0]), /TOPIC_AUTHORIZATION_FAILED/)
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

  test('TLS: paths are read, and each way to be refused is named', async t => {
    const bootstrap = broker.listeners.tls
    const { ca, caFile, expired } = broker.certificates
    assert.equal(await tries({ bootstrap, tls: { ca: caFile } }), null)
    await refused(
      { bootstrap, tls: { ca: `${caFile}.none` } },
      /file for ca cannot be read \(ENOENT\)/,
      /opened/,
    )
    await refused({ bootstrap, tls: true }, /not signed by a trusted authority/)
    await refused({ bootstrap, tls: { ca, servername: 'elsewhere.test' } }, /does not cover the host name/)
    const front = await startTlsFront(expired, Number(broker.bootstrap.split(':')[1]))
    t.after(() => front.close())
    await refused({ bootstrap: `127.0.0.1:${front.port}`, tls: { ca } }, /has expired/)
  })

  test('SASL without TLS at a listener that speaks TLS only does not blame the password', async () => {
    const sasl = { mechanism: 'PLAIN', username: 'alice', password: 'alice-secret' } as const
    const bootstrap = broker.listeners.tls
    await refused({ bootstrap, sasl }, /requires TLS/)
  })

  test('TLS at a listener without TLS is named in the error, with a login and without', async () => {
    const { ca } = broker.certificates
    const sasl = { mechanism: 'PLAIN', username: 'alice', password: 'alice-secret' } as const
    await refused({ bootstrap: broker.listeners.sasl, sasl, tls: { ca } }, /does not speak TLS/)
    await refused({ bootstrap: broker.bootstrap, tls: { ca } }, /does not speak TLS/)
  })

  test('a relay and consumers of other brokers reach Kafka with the TLS and SASL settings of the process', async t => {
    const kafka = await openKafka(t, broker.bootstrap)
    const database = await createDatabase()
    const pool = createPool(database.url, { max: 2 })
    const parts: { drain(deadlineMs: number): Promise<void> }[] = []
    t.after(async () => {
      await Promise.all(parts.map(part => part.drain(10_000)))
      await pool.end()
      await database.drop()
    })
    const { caFile } = broker.certificates
    const environment = {
      ONCEWARD_KAFKA_SASL_MECHANISM: 'SCRAM-SHA-512',
      ONCEWARD_KAFKA_SASL_USERNAME: 'alice',
      ONCEWARD_KAFKA_SASL_PASSWORD: 'alice-secret',
    }
    const ways = {
      tls: { kafkaBootstrap: broker.listeners.tls, ...brokerSecurity({ ONCEWARD_KAFKA_CA_FILE: caFile }) },
      sasl: { kafkaBootstrap: broker.listeners.sasl, ...brokerSecurity(environment) },
    }
    for (const [name, way] of Object.entries(ways)) {
      const topic = await kafka.createTopic()
      await createQueue(pool, `in.${name}`)
      const consumer = defineConsumer<{ id: string }, SqlTransaction, never, 'out'>({
        name: `to_kafka_${name}`,
        owner: 'tests',
        risk: 'projection',
        source: postgresQueue(`in.${name}`),
        identity: { id: m => m.id },
        effect: { publish: { out: { broker: 'kafka', topic } } },
        handle: async ({ message, effects }) =>
          effects.publish('out', { key: message.id, body: JSON.stringify(message) }),
      })
      const running = await runConsumer(consumer, { databaseUrl: database.url, ...way })
      parts.push(running)
      await publish(pool, `in.${name}`, [{ body: JSON.stringify({ id: name }) }])
      await until('the consumer has published', async () => (await kafka.read(topic)).length === 1, {
        deadlineMs: 60_000,
      })
      await running.drain(10_000)
      const relay = await runRelay({ databaseUrl: database.url, brokers: ['kafka'], ...way })
      parts.push(relay)
      await publishInTransaction(pool, { broker: 'kafka', topic }, [
        { id: `relayed-${name}`, key: 'k', body: {} },
      ])
      await until('the relay has published', async () => (await kafka.read(topic)).length === 2, {
        deadlineMs: 60_000,
      })
    }
  })

  test('a consumer reads with the TLS and SASL settings of its policy file', async t => {
    const kafka = await openKafka(t, broker.bootstrap)
    const database = await createDatabase()
    const pool = createPool(database.url, { max: 2 })
    const parts: { drain(deadlineMs: number): Promise<void> }[] = []
    t.after(async () => {
      await Promise.all(parts.map(part => part.drain(10_000)))
      await pool.end()
      await database.drop()
    })
    await migrate(pool)
    await pool.query('create table got (id text primary key)')
    const { caFile } = broker.certificates
    const { sasl, tls } = broker.listeners
    const secret = (name: string) => `"\${env:${name}}"`
    const login = `username: ${secret('USER')}, password: ${secret('PASSWORD')}`
    const right = { USER: 'alice', PASSWORD: 'alice-secret' }
    const consumerOf = async (name: string, bootstrap: string, settings: string, environment = right) => {
      const source = topic(await kafka.createTopic(), { start: 'earliest', bootstrap })
      await kafka.produce(source.topic, [JSON.stringify({ id: name })])
      const contract = consumerParts<{ id: string }, SqlTransaction>({
        name,
        owner: 'tests',
        risk: 'projection',
        source,
        identity: { id: m => m.id },
        handle: async ({ message, tx }) =>
          void (await tx.query('insert into got (id) values ($1)', [message.id])),
      })
      const text = `consumers:\n  ${name}:\n    source: ${settings}\n`
      return withPolicy(contract, readPolicy(text, 'onceward.yaml'), { environment })
    }
    const databaseUrl = database.url
    const ways = {
      by_tls: [tls, `{ tls: { ca: ${caFile} } }`],
      by_sasl: [sasl, `{ sasl: { mechanism: SCRAM-SHA-512, ${login} } }`],
    } as const
    for (const [name, [bootstrap, settings]] of Object.entries(ways))
      parts.push(await runConsumer(await consumerOf(name, bootstrap, settings), { databaseUrl }))
    const got = async () => (await pool.query('select id from got order by id')).rows.map(({ id }) => id)
    await until('both are applied', async () => (await got()).length === 2, { deadlineMs: 60_000 })
    assert.deepEqual(await got(), ['by_sasl', 'by_tls'])

    const refuses = async (
      name: string,
      [bootstrap, settings]: readonly [string, string],
      says: RegExp,
      environment?: typeof right,
    ) => {
      const consumer = await consumerOf(name, bootstrap, settings, environment)
      await assert.rejects(runConsumer(consumer, { databaseUrl }), (error: OncewardError) => {
        assert.equal(error.code, 'configuration', error.message)
        assert.match(error.message, says)
        assert.doesNotMatch(error.message, /secret/)
        return true
      })
    }
    await refuses('trusts_node', [tls, '{ tls: true }'], /not signed by a trusted authority/)
    const elsewhere = `{ tls: { ca: ${caFile}, servername: elsewhere.test } }`
    await refuses('wrong_name', [tls, elsewhere], /does not cover the host name/)
    const wrong = { ...right, PASSWORD: 'other-secret' }
    await refuses('wrong_password', ways.by_sasl, /credentials/, wrong)
  })

  test('mutual TLS: a broker that requires a client certificate refuses a connection without one', async () => {
    const bootstrap = broker.listeners.mtls
    const { ca, client } = broker.certificates
    assert.equal(await tries({ bootstrap, tls: { ca, ...client } }), null)
    await assert.rejects(tries({ bootstrap, tls: { ca } }), /TLS|broke/)
  })

  test('a listener that requires SASL closes a connection without it: the error names the possibility', async () => {
    await assert.rejects(tries({ bootstrap: broker.listeners.sasl }), /needs no TLS or SASL/)
  })
})
