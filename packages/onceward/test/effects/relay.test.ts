import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createPostgresPublisher } from '../../src/effects/publish/postgres-publisher.ts'
import type { OutgoingMessage, Publisher } from '../../src/effects/publish/publisher.ts'
import { createRelay, type Relay, type RelayOptions } from '../../src/effects/publish/relay.ts'
import { realSurroundings } from '../../src/runtime/real-surroundings.ts'
import { skipWithout } from '../services/services.ts'
import { type Child, interruptible, openScene, type Scene, startChild, until } from './scene.ts'

describe('relay', await skipWithout('postgres'), () => {
  let scene: Scene
  let brokers = 0
  const started: Relay[] = []
  const children: Child[] = []

  before(async () => {
    scene = await openScene()
  })
  after(async () => {
    for (const relay of started) relay.leave()
    for (const child of children) child.process.kill('SIGKILL')
    await Promise.allSettled(started.map(relay => relay.finished))
    await scene.close()
  })

  const put = (broker: string, queue: string, ids: readonly string[], headers = '{}') =>
    scene.pool.query(
      `insert into onceward.outbox (broker, queue, message_id, key, headers, properties, body)
       select $1, $2, id, 'k', $4::json, '{"type":"t"}', convert_to(id, 'UTF8') from unnest($3::text[]) as new (id)`,
      [broker, queue, ids, headers],
    )
  const left = async (broker: string) =>
    (await scene.pool.query('select count(*)::int as n from onceward.outbox where broker = $1', [broker]))
      .rows[0].n
  const arrived = async (queue: string): Promise<string[]> =>
    (
      await scene.pool.query(
        `select message_id from onceward.queue_message m join onceward.queue q on q.id = m.queue_id where q.name = $1 order by m.id`,
        [queue],
      )
    ).rows.map(row => row.message_id)

  async function start(options: Partial<RelayOptions> & { broker: string }): Promise<Relay> {
    const relay = createRelay({
      pool: scene.pool,
      publisher: createPostgresPublisher(scene.pool),
      world: realSurroundings(),
      ...options,
    })
    started.push(relay)
    await relay.start()
    return relay
  }

  /** Its own kind of broker for each test, so that relays of other tests leave its rows alone. */
  const nextBroker = () => `broker_${++brokers}`
  const scripted = (
    answer: (message: OutgoingMessage) => 'confirmed' | Error,
  ): Publisher & { sent: OutgoingMessage[] } => {
    const sent: OutgoingMessage[] = []
    return {
      sent,
      publish: async messages => {
        sent.push(...messages)
        return messages.map(answer)
      },
      close: async () => {},
    }
  }

  it('moves every row to its queue in order, restores bytes in headers, and empties the outbox', async () => {
    const broker = nextBroker()
    await put(broker, 'dead.a', ['a1', 'a2', 'a3'], '{"n":1,"trace":{"$bytes":"AAH/"}}')
    await put(broker, 'dead.b', ['b1'])
    const relay = await start({ broker })
    await until('the outbox is empty', async () => (await left(broker)) === 0)
    assert.deepEqual([await arrived('dead.a'), await arrived('dead.b')], [['a1', 'a2', 'a3'], ['b1']])
    const { rows } = await scene.pool.query(
      `select key, headers::text, properties::text, body from onceward.queue_message where message_id = 'a1'`,
    )
    assert.deepEqual(rows[0], {
      key: 'k',
      headers: '{"n":1,"trace":{"$bytes":"AAH/"}}',
      properties: '{"type":"t"}',
      body: Buffer.from('a1'),
    })
    assert.equal(relay.tally.published, 4)
    await relay.drain()
  })

  it('hands bytes in headers to the publisher as bytes', async () => {
    const broker = nextBroker()
    const publisher = scripted(() => 'confirmed')
    await put(
      broker,
      'q',
      ['m1'],
      '{"trace":{"$bytes":"AAH/"},"deep":[{"$bytes":"AA=="}],"not":{"$bytes":"AA==","x":1}}',
    )
    const relay = await start({ broker, publisher })
    await until('it is sent', async () => (await left(broker)) === 0)
    assert.deepEqual(publisher.sent[0]!.headers, {
      trace: Buffer.from([0, 1, 255]),
      deep: [Buffer.from([0])],
      not: { $bytes: 'AA==', x: 1 },
    })
    await relay.drain()
  })

  for (const { point, copies } of [
    { point: 'relay.claimed', copies: 1 },
    { point: 'relay.published', copies: 2 },
    { point: 'relay.deleted', copies: 1 },
  ]) {
    it(`killed at ${point}: published ${copies} time(s) under one id, then gone`, async () => {
      const broker = nextBroker()
      const queue = `dead.${point}`
      await put(broker, queue, ['m1'])
      const child = startChild({ url: scene.url, part: 'relay', broker, killAt: point })
      children.push(child)
      assert.equal(await child.ended, 'SIGKILL')
      assert.equal(await left(broker), point === 'relay.deleted' ? 0 : 1)
      const relay = await start({ broker })
      await until('the outbox is empty', async () => (await left(broker)) === 0)
      await relay.drain()
      assert.deepEqual(await arrived(queue), Array(copies).fill('m1'))
    })
  }

  it('shares the rows between two relays, each row once', async () => {
    const broker = nextBroker()
    const ids = Array.from({ length: 500 }, (_, index) => `m${index}`)
    await put(broker, 'dead.shared', ids)
    const two = await Promise.all([1, 2].map(() => start({ broker, batchMax: 10 })))
    await until('the outbox is empty', async () => (await left(broker)) === 0)
    await Promise.all(two.map(relay => relay.drain()))
    assert.deepEqual((await arrived('dead.shared')).sort(), [...ids].sort())
    assert.deepEqual(
      two.map(relay => relay.tally.published > 0),
      [true, true],
    )
  })

  it('finds a row that commits late behind a newer one', async () => {
    const broker = nextBroker()
    const late = await scene.pool.connect()
    const insert = `insert into onceward.outbox (broker, queue, message_id, headers, properties, body) values ($1, 'dead.late', $2, '{}', '{}', '')`
    await late.query('begin')
    await late.query(insert, [broker, 'late'])
    await scene.pool.query(insert, [broker, 'newer'])
    const relay = await start({ broker })
    await until('the newer is out', async () => (await arrived('dead.late')).length === 1)
    await late.query('commit')
    late.release()
    await until('both are out', async () => (await arrived('dead.late')).length === 2)
    await relay.drain()
    assert.deepEqual(await arrived('dead.late'), ['newer', 'late'])
  })

  it('keeps an unroutable row, tries it less and less, and lets the others pass', async () => {
    const broker = nextBroker()
    let routable = false
    const publisher = scripted(({ queue }) =>
      queue === 'q' || routable ? 'confirmed' : new Error('NO_ROUTE'),
    )
    await put(broker, 'nowhere', ['bad'])
    await put(broker, 'q', ['g1', 'g2'])
    const relay = await start({ broker, publisher, batchMax: 1 })
    await until('the good ones are out', async () => (await left(broker)) === 1)
    await put(broker, 'q', ['g3'])
    await until('later ones too', async () => (await left(broker)) === 1)
    await until(
      'it was tried again',
      () => publisher.sent.filter(message => message.messageId === 'bad').length >= 2,
    )
    assert.equal(relay.tally.failing, 1)
    routable = true
    await until('it leaves when it can', async () => (await left(broker)) === 0)
    assert.deepEqual(
      publisher.sent.filter(({ messageId }) => messageId !== 'bad').map(({ messageId }) => messageId),
      ['g1', 'g2', 'g3'],
    )
    assert.ok(publisher.sent.length < 20, `${publisher.sent.length} tries: it does not spin`)
    await relay.drain()
  })

  it('gives its rows back when the broker does not answer in time', async () => {
    const broker = nextBroker()
    let calls = 0
    const silent: Publisher = {
      publish: () => {
        calls++
        return new Promise(() => {})
      },
      close: async () => {},
    }
    await put(broker, 'dead.silent', ['m1'])
    const stuck = await start({ broker, publisher: silent, publishTimeoutMs: 100 })
    await until('it was tried', () => stuck.tally.failures >= 1)
    const relay = await start({ broker })
    await until('another publishes it', async () => (await left(broker)) === 0)
    assert.deepEqual(await arrived('dead.silent'), ['m1'])
    await Promise.all([stuck.drain(), relay.drain()])
    assert.ok(calls >= 1)
  })

  it('pauses while the database is away and goes on by itself', async () => {
    const broker = nextBroker()
    const pool = interruptible(scene.pool)
    const relay = await start({ broker, pool })
    pool.away = true
    await until('it notices', () => relay.tally.storeAway)
    await put(broker, 'dead.away', ['m1'])
    pool.away = false
    await until('it goes on', async () => (await left(broker)) === 0)
    await relay.drain()
  })

  it('leaves at once: the open round is rolled back and its rows stay', async () => {
    const broker = nextBroker()
    let asked = false
    const silent: Publisher = {
      publish: () => {
        asked = true
        return new Promise(() => {})
      },
      close: async () => {},
    }
    await put(broker, 'dead.left', ['m1'])
    const relay = await start({ broker, publisher: silent })
    await until('it is publishing', () => asked)
    relay.leave()
    await relay.finished
    assert.equal(await left(broker), 1)
  })
})
