import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { until } from 'onceward/testing'
import { skipWithout } from '../services/services.ts'
import { type OutboxScene, openOutboxScene, scriptedPublisher, silentPublisher } from './outbox-scene.ts'
import { interruptible } from './scene.ts'

describe('relay', await skipWithout('postgres'), () => {
  let scene: OutboxScene

  before(async () => {
    scene = await openOutboxScene()
  })
  after(() => scene.close())

  const queued = async (queue: string) =>
    (
      await scene.pool.query(
        `select message_id as id, m.key, headers::text, properties::text, body from onceward.queue_message m
         join onceward.queue q on q.id = m.queue_id where q.name = $1 order by m.id`,
        [queue],
      )
    ).rows

  it('moves rows into queues of the same database, whole and in order', async () => {
    const broker = scene.nextBroker()
    await scene.put(
      broker,
      'same.a',
      ['a1', 'a2', 'a3'].map(id => ({ id, key: 'k' })),
    )
    await scene.put(broker, 'same.b', [{ id: 'b1' }])
    const relay = await scene.start({ broker, publisher: 'same database' })
    await until('the outbox is empty', async () => (await scene.left(broker)) === 0)
    const moved = await queued('same.a')
    assert.deepEqual(
      moved.map(({ id }) => id),
      ['a1', 'a2', 'a3'],
    )
    assert.deepEqual(moved[0], {
      id: 'a1',
      key: 'k',
      headers: '{"n":1,"trace":{"$bytes":"AAH/"}}',
      properties: '{"type":"t"}',
      body: Buffer.from('a1'),
    })
    assert.deepEqual(
      (await queued('same.b')).map(({ id }) => id),
      ['b1'],
    )
    await until('it was counted', () => relay.tally.published === 4)
    await relay.drain()
  })

  it('passes bytes in headers to the publisher as bytes', async () => {
    const broker = scene.nextBroker()
    const publisher = scriptedPublisher(() => 'confirmed')
    await scene.pool.query(
      `insert into onceward.outbox (broker, destination, bucket, queue, message_id, headers, body)
       values ($1, $1, 0, 'q', 'm1', '{"trace":{"$bytes":"AAH/"},"deep":[{"$bytes":"AA=="}],"not":{"$bytes":"AA==","x":1}}', '')`,
      [broker],
    )
    const relay = await scene.start({ broker, publisher })
    await until('it is sent', async () => (await scene.left(broker)) === 0)
    const { headers } = publisher.sent[0]!
    assert.ok(Buffer.isBuffer(headers.trace))
    assert.deepEqual(structuredClone(headers), {
      trace: Uint8Array.of(0, 1, 255),
      deep: [Uint8Array.of(0)],
      not: { $bytes: 'AA==', x: 1 },
    })
    await relay.drain()
  })

  it('carries bodies larger than a round, each in its turn', async () => {
    const broker = scene.nextBroker()
    const sizes: number[] = []
    const publisher = scriptedPublisher(({ body }) => {
      sizes.push(body.length)
      return 'confirmed'
    })
    await scene.pool.query(
      `insert into onceward.outbox (broker, destination, bucket, queue, message_id, key, body)
       select $1, $1, onceward.outbox_bucket_of('k'), 'q', n::text, 'k', convert_to(repeat('x', n * 3000000), 'UTF8')
       from generate_series(1, 4) as n order by n`,
      [broker],
    )
    const relay = await scene.start({ broker, publisher })
    await until('they are sent', async () => (await scene.left(broker)) === 0)
    assert.deepEqual(sizes, [3_000_000, 6_000_000, 9_000_000, 12_000_000])
    await relay.drain()
  })

  it('keeps a refused row and its key behind it, records the error in the row, and lets other keys pass', async () => {
    const broker = scene.nextBroker()
    let takes = false
    const publisher = scriptedPublisher(({ messageId }) =>
      messageId.startsWith('bad') && !takes ? new Error('NO_ROUTE') : 'confirmed',
    )
    const ordered = { ...publisher, publish: inOrder(publisher) }
    await scene.put(broker, 'q', [
      { id: 'bad-0', key: 'bad' },
      { id: 'good-0', key: 'good' },
      { id: 'later-1', key: 'bad' },
    ])
    const relay = await scene.start({ broker, publisher: ordered })
    await until('the other key is out', async () => (await scene.left(broker)) === 2)
    await scene.put(broker, 'q', [{ id: 'good-1', key: 'good' }])
    await until('later ones of it too', async () => (await scene.left(broker)) === 2)
    await until('it was tried again', () => relay.tally.failures >= 2)
    assert.equal(relay.tally.failing, 1)
    const { rows } = await scene.pool.query(
      'select message_id as id, failures > 0 as failed, last_error as error from onceward.outbox where broker = $1 order by id',
      [broker],
    )
    assert.deepEqual(rows, [
      { id: 'bad-0', failed: true, error: 'Error: NO_ROUTE' },
      { id: 'later-1', failed: false, error: null },
    ])
    takes = true
    await until('the key leaves when it can', async () => (await scene.left(broker)) === 0)
    const confirmed = publisher.sent.map(({ messageId }) => messageId)
    assert.deepEqual(confirmed.slice(confirmed.lastIndexOf('bad-0')), ['bad-0', 'later-1'])
    assert.ok(publisher.sent.length < 20, `${publisher.sent.length} tries: it does not spin`)
    await relay.drain()
  })

  it('a broker that refuses everything is tried less and less often', async () => {
    const broker = scene.nextBroker()
    const publisher = scriptedPublisher(() => new Error('unavailable'))
    await scene.put(
      broker,
      'q',
      Array.from({ length: 200 }, (_, n) => ({ id: `m${n}` })),
    )
    const relay = await scene.start({ broker, publisher, batchMax: 1 })
    await until('it has been asked a few times', () => relay.tally.failures >= 5)
    assert.ok(publisher.sent.length < 30, `${publisher.sent.length} of 200 were tried`)
    assert.equal(await scene.left(broker), 200)
    await relay.drain()
  })

  it('releases its rows when the broker does not answer in time', async () => {
    const broker = scene.nextBroker()
    const silent = silentPublisher()
    await scene.put(broker, 'silent', [{ id: 'm1' }])
    const stuck = await scene.start({ broker, publisher: silent, publishTimeoutMs: 100 })
    await until('it was tried', () => stuck.tally.failures >= 1)
    await stuck.drain()
    const relay = await scene.start({ broker })
    await until('another publishes it', async () => (await scene.left(broker)) === 0)
    assert.deepEqual(
      (await scene.arrivals('silent')).map(({ id }) => id),
      ['m1'],
    )
    await relay.drain()
    assert.ok(silent.asked >= 1)
  })

  it('pauses while the database is unavailable and resumes', async () => {
    const broker = scene.nextBroker()
    const pool = interruptible(scene.pool)
    const relay = await scene.start({ broker, pool })
    pool.unavailable = true
    await until('it notices', () => relay.tally.storeUnavailable)
    await scene.put(broker, 'away', [{ id: 'm1' }])
    pool.unavailable = false
    await until('it continues', async () => (await scene.left(broker)) === 0)
    await relay.drain()
  })

  it('deletes what was confirmed when the database comes back, without publishing it again', async () => {
    const broker = scene.nextBroker()
    const pool = interruptible(scene.pool)
    const publisher = scriptedPublisher(() => {
      pool.unavailable = true
      return 'confirmed'
    })
    await scene.put(broker, 'q', [{ id: 'm1' }])
    const relay = await scene.start({ broker, pool, publisher })
    await until('it notices', () => relay.tally.storeUnavailable)
    assert.equal(await scene.left(broker), 1)
    pool.unavailable = false
    await until('the row is gone', async () => (await scene.left(broker)) === 0)
    assert.equal(publisher.sent.length, 1)
    await relay.drain()
  })

  it('leaves at once: the round is abandoned, its rows stay, its buckets are free', async () => {
    const broker = scene.nextBroker()
    const silent = silentPublisher()
    await scene.put(broker, 'left', [{ id: 'm1' }])
    const relay = await scene.start({ broker, publisher: silent })
    await until('it is publishing', () => silent.asked === 1)
    relay.leave()
    await relay.finished
    assert.equal(await scene.left(broker), 1)
    const { rows } = await scene.pool.query('select from onceward.relay where destination = $1', [broker])
    assert.equal(rows.length, 0)
  })
})

/** As a broker's own client would: one that fails keeps the later ones of its key back. */
function inOrder(publisher: ReturnType<typeof scriptedPublisher>) {
  return async (messages: Parameters<typeof publisher.publish>[0]) => {
    const { inKeyOrder } = await import('../../src/effects/publish/in-key-order.ts')
    const plain = {
      publish: async (some: typeof messages) =>
        (await publisher.publish(some, () => true)) as ('confirmed' | Error)[],
      close: async () => {},
    }
    return inKeyOrder(plain).publish(messages, () => true)
  }
}
