import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import {
  consumerParts,
  defineConsumer,
  type Running,
  runConsumer,
  type SqlTransaction,
  withPolicy,
} from 'onceward'
import { publishInTransaction, runRelay } from 'onceward/outbox'
import { createPool, migrate } from 'onceward/postgres'
import { createRabbitPublisher, queue } from 'onceward/rabbitmq'
import { stream } from 'onceward/rabbitmq-stream'
import { until } from 'onceward/testing'
import { readPolicy } from '../../src/contract/policy/read-policy.ts'
import { openConnection, refusal } from '../../src/drivers/rabbitmq/connection.ts'
import { askQueue } from '../../src/drivers/rabbitmq/management.ts'
import { readAddress } from '../../src/drivers/rabbitmq-stream/address.ts'
import { openEntrance, openLink } from '../../src/drivers/rabbitmq-stream/wire/handshake.ts'
import type { BrokerTls } from '../../src/drivers/tls/broker-tls.ts'
import { withTls } from '../../src/drivers/tls/tls-url.ts'
import type { OncewardError } from '../../src/errors.ts'
import { type Certificates, makeCertificates } from '../kafka/certificates.ts'
import { startTlsFront } from '../proxy/tls-front.ts'
import {
  type PrivatePorts,
  type PrivateRabbitmq,
  skipWithoutPrivateRabbitmq,
  startPrivateRabbitmq,
} from '../services/private-rabbitmq.ts'
import { createDatabase } from '../services/services.ts'

const deadlineMs = 60_000
const etc = '/etc/rabbitmq'

/** Queues and streams ask for our certificate, the management plugin does not. */
const configuration = (ports: PrivatePorts) => [
  `listeners.ssl.1 = 127.0.0.1:${ports.amqpTls}`,
  `stream.listeners.ssl.1 = 127.0.0.1:${ports.streamTls}`,
  `stream.advertised_tls_port = ${ports.streamTls}`,
  `ssl_options.cacertfile = ${etc}/ca.pem`,
  `ssl_options.certfile = ${etc}/server.pem`,
  `ssl_options.keyfile = ${etc}/server.key`,
  'ssl_options.verify = verify_peer',
  'ssl_options.fail_if_no_peer_cert = true',
  'ssl_cert_login_from = common_name',
  'auth_mechanisms.1 = PLAIN',
  'auth_mechanisms.2 = EXTERNAL',
  'management.ssl.ip = 127.0.0.1',
  `management.ssl.port = ${ports.managementTls}`,
  `management.ssl.cacertfile = ${etc}/ca.pem`,
  `management.ssl.certfile = ${etc}/server.pem`,
  `management.ssl.keyfile = ${etc}/server.key`,
]

describe('RabbitMQ over TLS', await skipWithoutPrivateRabbitmq(), () => {
  const folder = mkdtempSync(join(tmpdir(), 'onceward-tls-'))
  let certificates: Certificates
  let broker: PrivateRabbitmq
  let files: { ca: string; cert: string; key: string }

  before(async () => {
    certificates = makeCertificates(folder)
    const { ca, server, client } = certificates
    broker = await startPrivateRabbitmq({
      configuration,
      plugins: ['rabbitmq_auth_mechanism_ssl'],
      files: { 'ca.pem': ca, 'server.pem': server.cert, 'server.key': server.key },
    })
    files = { ca: join(folder, 'ca.pem'), cert: join(folder, 'client.pem'), key: join(folder, 'client.key') }
    writeFileSync(files.ca, ca)
    await manage('PUT', 'users/client', { password_hash: '', tags: '' })
    await manage('PUT', 'permissions/%2F/client', { configure: '.*', write: '.*', read: '.*' })
    assert.ok(client.cert)
  })
  after(async () => {
    await broker.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const manage = async (method: string, path: string, body: object) => {
    const address = new URL(broker.managementUrl)
    const authorization = `Basic ${Buffer.from('guest:guest').toString('base64')}`
    const headers = { authorization, 'content-type': 'application/json' }
    const url = `http://${address.host}/api/${path}`
    const answer = await fetch(url, { method, headers, body: JSON.stringify(body) })
    assert.ok(answer.ok, `${path}: ${answer.status} ${await answer.text()}`)
  }
  const login = 'guest:guest'
  const amqps = (host = '127.0.0.1', port = broker.ports.amqpTls) => `amqps://${login}@${host}:${port}`
  const streams = (host = '127.0.0.1', port = broker.ports.streamTls) =>
    `rabbitmq-stream+tls://${login}@${host}:${port}`

  /** One connection over each protocol. */
  const doors = {
    queues: {
      url: amqps,
      connect: async (url: string) => {
        const opening = openConnection(url, 'tries').catch(error => {
          throw refusal(error, 'A test') ?? error
        })
        await (await opening).close(1_000)
      },
    },
    streams: {
      url: streams,
      connect: async (url: string) =>
        (await openEntrance(readAddress(url, 'A test'), 'tries')).connection.close(1_000),
    },
  }
  const refused = (work: Promise<unknown>, says: RegExp) =>
    assert.rejects(work, (error: OncewardError) => {
      assert.equal(error.code, 'configuration', error.message)
      assert.match(error.message, says)
      assert.doesNotMatch(error.message, /guest:guest|PRIVATE KEY/)
      return true
    })

  for (const [name, door] of Object.entries(doors)) {
    test(`${name}: PEM, files and parameters of the address connect`, async () => {
      const { ca, client } = certificates
      await door.connect(withTls(door.url(), { ca, ...client }))
      await door.connect(withTls(door.url(), files))
      const { searchParams: query } = new URL('x://x')
      query.set('cacertfile', files.ca)
      query.set('certfile', files.cert)
      query.set('keyfile', files.key)
      query.set('verify', 'verify_peer')
      await door.connect(`${door.url()}?${query}`)
      await door.connect(withTls(door.url('localhost'), { ...files, servername: 'kafka.test' }))
    })

    test(`${name}: the client certificate authenticates with auth_mechanism=external`, async () => {
      const url = withTls(door.url().replace(login, 'nobody:wrong'), files)
      await door.connect(`${url}&auth_mechanism=external`)
      await refused(door.connect(url), /refused/)
    })

    test(`${name}: an unknown authority, a wrong name and an expired certificate are refused and named`, async t => {
      const { ca, client, expired } = certificates
      await refused(door.connect(door.url()), /not signed by a trusted authority \(/)
      const other = makeOther(t)
      await refused(
        door.connect(withTls(door.url(), { ...files, ca: other })),
        /not signed by a trusted authority/,
      )
      await refused(door.connect(withTls(door.url('localhost'), files)), /does not cover the host name/)
      await refused(
        door.connect(withTls(door.url(), { ...files, servername: 'elsewhere.test' })),
        /does not cover the host name/,
      )
      const plain = name === 'queues' ? broker.ports.amqp : broker.ports.stream
      const front = await startTlsFront(expired, plain)
      t.after(() => front.close())
      await refused(
        door.connect(withTls(door.url('127.0.0.1', front.port), { ca, ...client })),
        /has expired/,
      )
    })

    test(`${name}: files that cannot be used are refused before anything is opened`, async () => {
      const wrong = (tls: BrokerTls) => door.connect(withTls(door.url(), { ...files, ...tls }))
      await refused(wrong({ ca: join(folder, 'none.pem') }), /file for ca cannot be read \(ENOENT\)/)
      await refused(wrong({ key: files.ca }), /cannot be used/)
      await refused(door.connect(`${door.url()}?verify=verify_none`), /always verifies/)
      const plain = door.url().replace('amqps:', 'amqp:').replace('+tls', '')
      await refused(door.connect(withTls(plain, files)), /not encrypted/)
    })

    test(`${name}: an address without TLS at a TLS port is named in the error, which does not blame the password`, async () => {
      const plain = door.url().replace('amqps:', 'amqp:').replace('+tls', '')
      await refused(door.connect(plain), /requires TLS/)
    })
  }

  test('an address with TLS at a port without it is named in the error', async () => {
    await refused(openConnection(amqps('127.0.0.1', broker.ports.amqp), 'tries'), /does not speak TLS/)
    const url = streams('127.0.0.1', broker.ports.stream)
    await refused(openLink(readAddress(url, 'A test'), 'tries'), /does not speak TLS/)
  })

  test('several hosts: one whose certificate has another name is skipped; if all refuse, the error says so', async () => {
    const { amqpTls, streamTls } = broker.ports
    for (const [door, port] of [
      [doors.queues, amqpTls],
      [doors.streams, streamTls],
    ] as const) {
      const one = withTls(door.url(), files)
      const both = (first: string, second: string) =>
        one.replace(`127.0.0.1:${port}`, `${first}:${port},${second}:${port}`)
      for (let turn = 0; turn < 4; turn++) await door.connect(both('localhost', '127.0.0.1'))
      await refused(door.connect(both('localhost', 'localhost')), /does not cover the host name/)
      await door.connect(both('127.0.0.1', '127.0.0.1').replace(`:${port},`, ':1,'))
    }
  })

  test('a broker that requires a client certificate refuses a connection without one', async () => {
    const url = withTls(amqps(), { ca: certificates.ca })
    await assert.rejects(openConnection(url, 'tries'))
  })

  test('the management plugin is queried over https with the same authority, and over plain http on this machine only', async t => {
    const name = `tls.${process.pid}`
    await manage('PUT', `queues/%2F/${name}`, { durable: true })
    const own = withTls(amqps(), files)
    const at = (base: string, url = own) => askQueue(base, url, name)
    const https = `https://127.0.0.1:${broker.ports.managementTls}`
    assert.ok('known' in (await at(https)))
    assert.ok('known' in (await at(`http://127.0.0.1:${broker.ports.management}`)))
    assert.ok('known' in (await at(`http://localhost:${broker.ports.management}`)))
    const unknown = async (base: string, says: RegExp, url = own) => {
      const answer = await at(base, url)
      assert.ok('unknown' in answer)
      assert.match(answer.unknown, says)
      assert.doesNotMatch(answer.unknown, /guest/)
    }
    await unknown(https, /not signed by a trusted authority/, amqps())
    await unknown(https.replace('127.0.0.1', 'localhost'), /does not cover the host name/)
    const front = await startTlsFront(certificates.expired, broker.ports.management)
    t.after(() => front.close())
    await unknown(`https://127.0.0.1:${front.port}`, /has expired/)
    for (const host of ['rabbit.example', '10.0.0.1', '128.0.0.1', '[::2]', '127.0.0.1.example'])
      await unknown(`http://guest:guest@${host}:15672`, /would cross the network unencrypted/)
  })

  test('a publisher refuses at once, and a consumer at start', async () => {
    const publisher = createRabbitPublisher({ url: amqps() })
    const message = { queue: 'x', messageId: 'a', body: Buffer.from('x') }
    const [result] = await publisher.publish([message])
    assert.match(String(result), /not signed by a trusted authority/)
    await publisher.close()
  })

  test('consumers read queues and streams, and publish, with the TLS settings of contract and process', async t => {
    const database = await createDatabase()
    const pool = createPool(database.url, { max: 2 })
    const running: Running[] = []
    t.after(async () => {
      await Promise.all(running.map(one => one.drain(10_000)))
      await pool.end()
      await database.drop()
    })
    await migrate(pool)
    await pool.query('create table got (id text primary key)')
    const [from, to, log] = [`from.${process.pid}`, `to.${process.pid}`, `log.${process.pid}`]
    await manage('PUT', `queues/%2F/${to}`, { durable: true, arguments: { 'x-queue-type': 'quorum' } })
    await manage('PUT', `queues/%2F/${log}`, { durable: true, arguments: { 'x-queue-type': 'stream' } })
    const options = {
      databaseUrl: database.url,
      rabbitmqUrl: amqps(),
      rabbitmqStreamUrl: streams(),
    }
    const consumerOf = (name: string, source: ReturnType<typeof queue> | ReturnType<typeof stream>) =>
      defineConsumer<{ id: string }, SqlTransaction, never, 'out'>({
        name,
        source,
        owner: 'tests',
        risk: 'projection',
        identity: { id: m => m.id },
        effect: { publish: { out: { broker: 'rabbitmq', queue: to } } },
        handle: async ({ message, tx, effects }) => {
          await tx.query('insert into got (id) values ($1)', [message.id])
          effects.publish('out', { key: message.id, body: JSON.stringify(message) })
        },
      })
    const reading = consumerOf('reads_queue', queue(from, { tls: files }))
    const following = consumerOf('reads_stream', stream(log, { start: 'first' }))
    await refused(runConsumer(following, options), /not signed by a trusted authority/)
    for (const consumer of [reading, following])
      running.push(await runConsumer(consumer, { ...options, rabbitmqTls: files }))
    const publisher = createRabbitPublisher({ url: withTls(amqps(), files) })
    const message = (name: string, id: string) => ({
      queue: name,
      messageId: id,
      body: Buffer.from(JSON.stringify({ id })),
    })
    const sent = await publisher.publish([message(from, 'by-queue'), message(log, 'by-stream')])
    assert.deepEqual(sent, ['confirmed', 'confirmed'])
    await publisher.close()
    const got = async () => (await pool.query('select id from got order by id')).rows.map(row => row.id)
    await until('both are applied', async () => (await got()).length === 2, { deadlineMs })
    assert.deepEqual(await got(), ['by-queue', 'by-stream'])
    const waiting = async () => (await pool.query('select count(*)::int as n from onceward.outbox')).rows[0].n
    await until('both are published', async () => (await waiting()) === 0, { deadlineMs })
  })

  test('a relay publishes over TLS with the settings of the process, and is refused without them', async t => {
    const database = await createDatabase()
    const pool = createPool(database.url, { max: 2 })
    const relays: { drain(deadlineMs: number): Promise<void> }[] = []
    t.after(async () => {
      await Promise.all(relays.map(relay => relay.drain(10_000)))
      await pool.end()
      await database.drop()
    })
    await migrate(pool)
    const name = `relayed.${process.pid}`
    await manage('PUT', `queues/%2F/${name}`, { durable: true, arguments: { 'x-queue-type': 'quorum' } })
    const options = { databaseUrl: database.url, brokers: ['rabbitmq' as const], rabbitmqUrl: amqps() }
    await publishInTransaction(pool, { broker: 'rabbitmq', queue: name }, [
      { id: 'relayed', key: 'k', body: {} },
    ])
    const waiting = async () => (await pool.query('select count(*)::int as n from onceward.outbox')).rows[0].n
    for (const [wrong, says] of [
      [{ ca: makeOther(t) }, /not signed by a trusted authority/],
      [{ servername: 'elsewhere.test' }, /does not cover the host name/],
    ] as const) {
      const relay = await runRelay({ ...options, rabbitmqTls: { ...files, ...wrong } })
      await refused(relay.finished, says)
      assert.equal(await waiting(), 1)
    }
    relays.push(await runRelay({ ...options, rabbitmqTls: files }))
    await until('it is published', async () => (await waiting()) === 0, { deadlineMs })
  })

  test('consumers read queues and streams with the TLS settings of a policy file', async t => {
    const database = await createDatabase()
    const pool = createPool(database.url, { max: 2 })
    const running: Running[] = []
    t.after(async () => {
      await Promise.all(running.map(one => one.drain(10_000)))
      await pool.end()
      await database.drop()
    })
    await migrate(pool)
    await pool.query('create table got (id text primary key)')
    const [from, log] = [`policy.${process.pid}`, `policy.log.${process.pid}`]
    await manage('PUT', `queues/%2F/${log}`, { durable: true, arguments: { 'x-queue-type': 'stream' } })
    const { ca, cert, key } = files
    const settings = `{ ca: ${ca}, cert: ${cert}, key: ${key} }`
    const consumerOf = (
      name: string,
      source: ReturnType<typeof queue> | ReturnType<typeof stream>,
      tls: string,
    ) =>
      withPolicy(
        consumerParts<{ id: string }, SqlTransaction>({
          name,
          source,
          owner: 'tests',
          risk: 'projection',
          identity: { id: m => m.id },
          handle: async ({ message, tx }) =>
            void (await tx.query('insert into got (id) values ($1)', [message.id])),
        }),
        readPolicy(`consumers:\n  ${name}:\n    source: { tls: ${tls} }\n`, 'onceward.yaml'),
      )
    const options = { databaseUrl: database.url, rabbitmqUrl: amqps(), rabbitmqStreamUrl: streams() }
    const sources = { by_queue: queue(from), by_stream: stream(log, { start: 'first' }) }
    const otherFile = join(folder, 'other.pem')
    writeFileSync(otherFile, makeOther(t))
    for (const [name, source] of Object.entries(sources)) {
      const other = settings.replace(ca, otherFile)
      await refused(
        runConsumer(consumerOf(name, source, other), options),
        /not signed by a trusted authority/,
      )
      running.push(await runConsumer(consumerOf(name, source, settings), options))
    }
    const publisher = createRabbitPublisher({ url: withTls(amqps(), files) })
    const message = (to: string, id: string) => ({
      queue: to,
      messageId: id,
      body: Buffer.from(JSON.stringify({ id })),
    })
    await publisher.publish([message(from, 'by-queue'), message(log, 'by-stream')])
    await publisher.close()
    const got = async () => (await pool.query('select id from got order by id')).rows.map(row => row.id)
    await until('both are applied', async () => (await got()).length === 2, { deadlineMs })
    assert.deepEqual(await got(), ['by-queue', 'by-stream'])
  })

  /** An authority that signed nothing here. */
  function makeOther(t: { after(work: () => void): void }): string {
    const elsewhere = mkdtempSync(join(tmpdir(), 'onceward-other-'))
    t.after(() => rmSync(elsewhere, { recursive: true, force: true }))
    return makeCertificates(elsewhere).ca
  }
})
