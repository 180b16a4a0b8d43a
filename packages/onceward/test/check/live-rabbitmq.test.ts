import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type Server } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { type Channel, type ChannelModel, connect, type Options } from 'amqplib'
import { createPool, migrate } from 'onceward/postgres'
import { type QueueOptions, queue } from 'onceward/rabbitmq'
import { stream } from 'onceward/rabbitmq-stream'
import { until } from 'onceward/testing'
import { rabbitOutletRules } from '../../src/review/rules/outlets.ts'
import { rabbitRules } from '../../src/review/rules/rabbitmq.ts'
import { streamRules } from '../../src/review/rules/stream.ts'
import {
  createDatabase,
  rabbitmqManagementUrl,
  rabbitmqStreamUrl,
  rabbitmqUrl,
  skipWithout,
} from '../services/services.ts'
import { consumerWith } from './contract-pairs.ts'
import { liveFindings, Seen } from './live-scene.ts'

const seen = new Seen()
const hex = () => randomBytes(4).toString('hex')

describe('check --live on RabbitMQ', await skipWithout('rabbitmq'), () => {
  const own = `check-${hex()}`
  const queues: string[] = []
  let connection: ChannelModel
  let channel: Channel
  let access: { rabbitmqUrl: string; managementUrl: string; rabbitmqStreamUrl: string }

  before(async () => {
    access = {
      rabbitmqUrl: await rabbitmqUrl(),
      managementUrl: (await rabbitmqManagementUrl())!,
      rabbitmqStreamUrl: (await rabbitmqStreamUrl())!,
    }
    connection = await connect(access.rabbitmqUrl)
    channel = await connection.createChannel()
    await channel.assertExchange(`${own}.dlx`, 'topic')
  })
  after(async () => {
    await setPolicy(null)
    for (const name of queues) await channel.deleteQueue(name)
    await channel.deleteExchange(`${own}.dlx`)
    await channel.deleteExchange(`${own}.super`)
    await connection.close()
  })

  const declare = async (
    name: string,
    settings: Record<string, unknown>,
    options: Options.AssertQueue = {},
  ) => {
    await channel.assertQueue(name, { arguments: settings, ...options })
    if (!queues.includes(name)) queues.push(name)
  }
  const quorum = (settings: Record<string, unknown> = {}) => ({
    'x-queue-type': 'quorum',
    'x-delivery-limit': -1,
    ...settings,
  })
  const setPolicy = async (
    definition: Record<string, unknown> | null,
    pattern = '',
    applied: 'queues' | 'exchanges' = 'queues',
  ) => {
    const url = new URL(`/api/policies/%2F/${own}`, access.managementUrl)
    const authorization = `Basic ${Buffer.from(`${url.username}:${url.password}`).toString('base64')}`
    url.username = ''
    url.password = ''
    const body = JSON.stringify({
      pattern: `^${pattern.replaceAll('.', '\\.')}$`,
      definition,
      'apply-to': applied,
    })
    const request = definition === null ? { method: 'DELETE' } : { method: 'PUT', body }
    await fetch(url, { ...request, headers: { authorization, 'content-type': 'application/json' } })
  }
  const delaysRetries = () => {
    const { version } = connection.connection.serverProperties as { version: string }
    const [major = 0, minor = 0] = version.split('.').map(Number)
    return major > 4 || (major === 4 && minor >= 3)
  }
  const findings = (name: string, options: QueueOptions = { declare: 'verify' }, changes = {}) =>
    liveFindings([consumerWith({ source: queue(name, options), ...changes })], access)

  /** The queue made wrong, looked at, made anew and right, and looked at again. */
  async function mended(
    id: string,
    wrong: Record<string, unknown>,
    right: Record<string, unknown>,
    { options = { declare: 'verify' } as QueueOptions, asserted = {} as Options.AssertQueue } = {},
  ): Promise<void> {
    const name = `${own}.${id}`
    await declare(name, wrong, asserted)
    const first = await findings(name, options)
    await channel.deleteQueue(name)
    await declare(name, right)
    const second = await findings(name, options)
    seen.note(id, first, second)
    assert.ok(
      first.some(one => one.id === id),
      JSON.stringify(first.map(one => `${one.id} ${one.found}`)),
    )
    assert.deepEqual(
      second.filter(one => one.id === id),
      [],
    )
  }

  const dead = (routingKey: string, other: Record<string, unknown> = {}) => ({
    'x-dead-letter-exchange': `${own}.dlx`,
    'x-dead-letter-routing-key': routingKey,
    'x-dead-letter-strategy': 'at-least-once',
    'x-overflow': 'reject-publish',
    ...other,
  })

  test('a queue that others declare is missing, then exists', async () => {
    const name = `${own}.verify`
    const first = await findings(name)
    await declare(name, quorum())
    seen.note('OW201', first, await findings(name))
  })

  test('arguments differ from the declaration, then agree', async () => {
    await mended('OW202', { 'x-queue-type': 'classic' }, quorum(), { options: {} })
  })

  test('a queue is not durable, then is', async () => {
    await mended('OW203', {}, quorum(), { asserted: { durable: false, exclusive: false, autoDelete: true } })
  })

  test('a queue is classic, then a quorum queue', async () => {
    await mended('OW204', { 'x-queue-type': 'classic' }, quorum())
  })

  test('a limit has no dead-letter exchange, then none is set', async () => {
    await mended('OW205', { 'x-queue-type': 'quorum' }, quorum())
    await mended('OW206', quorum({ 'x-delivery-limit': 2 }), quorum())
  })

  test('dead letters reach no queue, then one: what counts is the binding', async () => {
    const name = `${own}.route`
    const target = `${own}.dead`
    await declare(target, quorum())
    await declare(name, quorum(dead('lost.letters')))
    await channel.bindQueue(target, `${own}.dlx`, 'other.#')
    const first = await findings(name)
    await channel.bindQueue(target, `${own}.dlx`, 'lost.*')
    const second = await findings(name)
    seen.note('OW207', first, second)
    assert.match(first.find(one => one.id === 'OW207')!.found, /no queue takes key "lost\.letters"/)
    await channel.deleteQueue(target)
    assert.ok(
      (await findings(name)).some(one => one.id === 'OW207'),
      'a binding goes with its queue',
    )
    await declare(target, quorum())
  })

  test('an alternate exchange gets messages that no binding matches, and no others; a policy may name it', async () => {
    const [first, second, rest] = [`${own}.first`, `${own}.second`, `${own}.rest`]
    await channel.assertExchange(second, 'topic', { autoDelete: true })
    await channel.assertExchange(rest, 'fanout', { autoDelete: true })
    await channel.assertExchange(first, 'fanout', { autoDelete: true })
    await setPolicy({ 'alternate-exchange': rest }, first, 'exchanges')
    await declare(`${own}.rests`, quorum())
    await channel.bindQueue(`${own}.rests`, rest, '')
    const publish = { out: { broker: 'rabbitmq', exchange: first, routingKey: 'k' } } as const
    const look = async () =>
      (await liveFindings([consumerWith({ effect: { publish } })], access)).some(one => one.id === 'OW214')
    const isReturned = async () => {
      const confirmed = await connection.createConfirmChannel()
      let returned = false
      confirmed.on('return', () => {
        returned = true
      })
      confirmed.publish(first, 'k', Buffer.from('x'), { mandatory: true })
      await confirmed.waitForConfirms()
      await confirmed.close()
      return returned
    }
    await until('the policy is in force', async () => !(await isReturned()))
    assert.equal(await look(), false)
    await channel.bindExchange(second, first, '')
    assert.deepEqual([await isReturned(), await look()], [true, true])
    await setPolicy(null)
    await channel.deleteExchange(first)
    await channel.unbindQueue(`${own}.rests`, rest, '')
  })

  test('a dead-letter queue drops its messages, then keeps them', async () => {
    const [name, target] = [`${own}.kept`, `${own}.keeper`]
    await declare(target, quorum({ 'x-message-ttl': 60_000, 'x-max-length': 5 }), {})
    await channel.bindQueue(target, `${own}.dlx`, 'keep')
    await declare(name, quorum(dead('keep')))
    const first = await findings(name)
    assert.deepEqual(
      first.filter(one => one.id === 'OW215').map(one => one.found),
      [
        `queue ${target} has max-length 5 and drops from its head`,
        `messages of queue ${target} expire after 1m and are dropped`,
      ],
    )
    await channel.deleteQueue(target)
    await declare(target, quorum())
    await channel.bindQueue(target, `${own}.dlx`, 'keep')
    seen.note('OW215', first, await findings(name))
  })

  test('a queue that does not exist yet is bound to an exchange that is missing, then exists', async () => {
    const bind = [{ exchange: `${own}.bound`, routingKey: 'k' }]
    const first = await findings(`${own}.unmade`, { bind })
    await channel.assertExchange(`${own}.bound`, 'direct')
    seen.note('OW216', first, await findings(`${own}.unmade`, { bind }))
    await channel.deleteExchange(`${own}.bound`)
  })

  test('dead letters are forwarded at most once, or in a circle, then neither', async () => {
    await channel.bindQueue(`${own}.dead`, `${own}.dlx`, 'fine')
    await mended(
      'OW208',
      quorum(dead('fine', { 'x-dead-letter-strategy': 'at-most-once' })),
      quorum(dead('fine')),
    )
    const circle = { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': `${own}.OW209` }
    await mended('OW209', quorum(circle), quorum())
  })

  test('a policy sets a time-out shorter than the work, drops from the head, then is removed', async () => {
    const name = `${own}.policy`
    await declare(name, quorum())
    await setPolicy({ 'consumer-timeout': 5_000, 'max-length': 10 }, name)
    const first = await findings(name)
    await setPolicy(null)
    const second = await findings(name)
    for (const id of ['OW210', 'OW211']) seen.note(id, first, second)
    const ids = first.map(one => one.id)
    assert.ok(ids.includes('OW210') && ids.includes('OW211'), ids.join())
  })

  test('a policy gives a queue without limit one, and makes it drop from its head: the policy is authoritative', async () => {
    const name = `${own}.overruled`
    await declare(name, quorum({ 'x-overflow': 'reject-publish' }))
    await setPolicy({ 'delivery-limit': 1, overflow: 'drop-head', 'max-length': 1 }, name)
    const first = await findings(name)
    const confirmed = await connection.createConfirmChannel()
    confirmed.sendToQueue(name, Buffer.from('first'))
    confirmed.sendToQueue(name, Buffer.from('second'))
    await confirmed.waitForConfirms()
    let handedOver = 0
    await confirmed.consume(name, delivery => {
      handedOver++
      // A negative acknowledgement does not count from RabbitMQ 4.3 on.
      confirmed.reject(delivery!, true)
    })
    await until('the last copy is dropped', async () => {
      const { messageCount } = await channel.checkQueue(name)
      return handedOver >= 2 && messageCount === 0
    })
    await confirmed.close()
    assert.equal((await channel.checkQueue(name)).messageCount, 0, 'the broker dropped both')
    await setPolicy(null)
    const ids = first.map(one => one.id)
    for (const id of ['OW205', 'OW206', 'OW211']) assert.ok(ids.includes(id), `${id} of ${ids.join()}`)
    const second = (await findings(name)).map(one => one.id)
    for (const id of ['OW205', 'OW206', 'OW211']) assert.ok(!second.includes(id), id)
  })

  test('a queue that keeps order delays what a crash returns, then does not; 4.0 has no such setting', async t => {
    if (!delaysRetries()) return t.skip('RabbitMQ before 4.3')
    const singleActiveConsumer = true
    const contract = { order: 'key', identity: { id: () => 'm', orderKey: () => 'k' } } as const
    const settings = (type: string) =>
      quorum({
        ...{ 'x-single-active-consumer': true, 'x-delayed-retry-min': 1_000, 'x-delayed-retry-max': 5_000 },
        'x-delayed-retry-type': type,
      })
    const name = `${own}.OW217`
    const options: QueueOptions = { declare: 'verify', singleActiveConsumer }
    await declare(name, settings('all'))
    const first = await findings(name, options, contract)
    await channel.deleteQueue(name)
    await declare(name, settings('returned'))
    seen.note('OW217', first, await findings(name, options, contract))
    assert.match(first.find(one => one.id === 'OW217')!.found, /delayed-retry-type all/)
  })

  test('the dead-letter queue that is ingested has a limit, then none', async () => {
    const back = `${own}.back`
    const name = `${own}.front`
    const options: QueueOptions = { declare: 'verify', deadLetterIngest: back }
    await declare(name, quorum())
    await declare(back, { 'x-queue-type': 'quorum' })
    const first = await findings(name, options)
    await channel.deleteQueue(back)
    await declare(back, quorum())
    seen.note('OW213', first, await findings(name, options))
  })

  test('published messages reach no queue, then one, also from a contract of another source', async () => {
    const done = `${own}.done`
    const publish = {
      direct: { broker: 'rabbitmq', queue: done },
      routed: { broker: 'rabbitmq', exchange: `${own}.dlx`, routingKey: 'work.done' },
      nowhere: { broker: 'rabbitmq', exchange: `${own}.none`, routingKey: 'work.done' },
    } as const
    const look = () => liveFindings([consumerWith({ effect: { publish } })], access)
    const textsOf = (found: Awaited<ReturnType<typeof look>>) =>
      found.filter(one => one.id === 'OW214').map(one => one.found)
    const first = await look()
    assert.deepEqual(textsOf(first), [
      `effect.publish.direct: queue ${done} does not exist`,
      `effect.publish.routed: exchange "${own}.dlx" has no queue that takes key "work.done"`,
      `effect.publish.nowhere: exchange ${own}.none does not exist`,
    ])
    await declare(done, quorum())
    await channel.bindQueue(done, `${own}.dlx`, 'work.*')
    assert.deepEqual(textsOf(await look()).length, 1)
    await channel.assertExchange(`${own}.none`, 'fanout', { autoDelete: true })
    await channel.bindQueue(done, `${own}.none`, '')
    const last = await look()
    seen.note('OW214', first, last)
    assert.deepEqual(textsOf(last), [])
    const plain = await liveFindings([consumerWith({ effect: { publish } })], {})
    assert.ok(plain.some(one => one.id === 'OW902' && /ONCEWARD_RABBITMQ_URL/.test(one.found)))
  })

  test('streams: missing, kept too short, cut by size; then not', async () => {
    const name = `${own}.stream`
    const look = () =>
      liveFindings(
        [consumerWith({ source: stream(name, { start: 'first' }), replay: { window: '30d' } })],
        access,
      )
    const missing = await look()
    await declare(name, { 'x-queue-type': 'stream', 'x-max-age': '7D' })
    const short = await look()
    await channel.deleteQueue(name)
    await declare(name, { 'x-queue-type': 'stream', 'x-max-length-bytes': 1_000_000 })
    const cut = await look()
    await channel.deleteQueue(name)
    await declare(name, { 'x-queue-type': 'stream', 'x-max-age': '60D' })
    const fine = await look()
    seen.note('OW221', missing, fine)
    seen.note('OW222', short, fine)
    seen.note('OW223', cut, fine)
  })

  test('a policy makes a stream keep less than its argument says', async () => {
    const name = `${own}.shortened`
    await declare(name, { 'x-queue-type': 'stream', 'x-max-age': '60D' })
    const source = stream(name, { start: 'first' })
    const look = () => liveFindings([consumerWith({ source, replay: { window: '30d' } })], access)
    await setPolicy({ 'max-age': '1D' }, name)
    const first = await look()
    await setPolicy(null)
    assert.ok(first.some(one => one.id === 'OW222'))
    assert.ok((await look()).every(one => one.id !== 'OW222'))
  })

  test('a super stream is looked at by its partitions', async () => {
    const name = `${own}.super`
    await channel.assertExchange(name, 'direct')
    for (const number of [0, 1]) {
      const settings = { 'x-queue-type': 'stream', ...(number === 0 && { 'x-max-age': '60D' }) }
      await declare(`${name}-${number}`, { ...settings, 'x-max-length-bytes': 1_000_000 })
      await channel.bindQueue(`${name}-${number}`, name, String(number))
    }
    const source = stream(name, { start: 'first', superStream: true })
    const found = await liveFindings([consumerWith({ source })], access)
    assert.deepEqual(
      found.filter(one => one.id === 'OW223').map(one => one.found),
      [`${name}-1 is cut at 1000000 bytes and has no max-age`],
    )
    assert.ok(found.every(one => one.id !== 'OW221'))
  })

  test('another cluster than the one that feeds the database is reported, for queues and for streams', async t => {
    const database = await createDatabase()
    t.after(() => database.drop())
    const pool = createPool(database.url, { max: 1 })
    await migrate(pool, { environment: 'production' })
    await pool.query(
      `insert into onceward.broker (kind, cluster, added_by, reason) values ('rabbitmq', 'elsewhere', 'me', 'x')`,
    )
    await pool.end()
    for (const source of [queue(`${own}.any`), stream(`${own}.any`, { start: 'first' })]) {
      const server = { ...access, databaseUrl: database.url, environment: 'production' }
      const found = await liveFindings([consumerWith({ source })], server)
      assert.ok(
        found.some(one => one.id === 'OW510' && /fed by "elsewhere"/.test(one.found)),
        source.kind,
      )
    }
  })

  test('an alarm is reported; the test simulates the plugin, because an alarm would stop other tests', async () => {
    let alarm = true
    const plugin = createHttpServer((request, response) => {
      const replies: Record<string, unknown> = {
        '/api/overview': { rabbitmq_version: '4.0.5' },
        '/api/nodes': [{ name: 'rabbit@one', mem_alarm: alarm, disk_free_alarm: false }],
      }
      response.end(JSON.stringify(replies[request.url!] ?? []))
    }).listen(0, '127.0.0.1')
    await once(plugin, 'listening')
    const managementUrl = `http://127.0.0.1:${(plugin.address() as { port: number }).port}`
    const look = () => liveFindings([consumerWith({ source: queue('any') })], { ...access, managementUrl })
    const first = await look()
    alarm = false
    seen.note('OW212', first, await look())
    plugin.close()
  })

  test('without the plugin it reports what was not checked, and judges the rest', async () => {
    const found = await liveFindings(
      [consumerWith({ source: queue(`${own}.none`, { declare: 'verify' }) })],
      {
        rabbitmqUrl: access.rabbitmqUrl,
        managementUrl: 'http://127.0.0.1:1',
      },
    )
    const ids = found.map(one => one.id)
    assert.ok(ids.includes('OW201') && ids.includes('OW902'), ids.join())
  })

  test('a broker that is unavailable, refuses or stays silent is a finding without the password', async t => {
    const silent: Server = createServer(() => {}).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    t.after(() => silent.close())
    const { port } = silent.address() as { port: number }
    const wrong = new URL(access.rabbitmqUrl)
    wrong.password = 'hunter2'
    const sources = [
      queue('a', { url: 'amqp://guest:secret@127.0.0.1:1' }),
      queue('b', { url: wrong.href }),
      queue('c', { url: `amqp://guest:secret@127.0.0.1:${port}` }),
    ]
    const consumers = sources.map((source, index) => consumerWith({ name: `silent_${index}`, source }))
    const found = (await liveFindings(consumers, { timeoutMs: 2_000 })).filter(one => one.id === 'OW901')
    assert.equal(found.length, 3)
    assert.doesNotMatch(JSON.stringify(found), /secret|hunter2/)
  })

  test('the check creates no queue and no exchange', async () => {
    const names = [`${own}.never`, `${own}.none`]
    await findings(names[0]!, {})
    for (const name of names) {
      const look = await connection.createChannel()
      look.on('error', () => {})
      await assert.rejects(look.checkQueue(name), /404/)
    }
  })

  test('every rule over RabbitMQ reported a finding and no finding', () => {
    assert.deepEqual(
      seen.missing(
        [...rabbitRules, ...streamRules, ...rabbitOutletRules].map(rule => rule.id),
        delaysRetries() ? {} : { OW217: 'RabbitMQ before 4.3 refuses the setting' },
      ),
      [],
    )
  })
})
