import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { until } from 'onceward/testing'
import { skipWithout } from '../services/services.ts'
import { assertFirstCopiesInOrder, numbered, type OutboxScene, openOutboxScene } from './outbox-scene.ts'

describe('several relays', await skipWithout('postgres'), () => {
  let scene: OutboxScene

  before(async () => {
    scene = await openOutboxScene()
  })
  after(() => scene.close())

  const owners = async (broker: string): Promise<Record<string, number>> => {
    const { rows } = await scene.pool.query(
      `select instance, count(*)::int as n from onceward.outbox_bucket b join onceward.relay r on r.id = relay_id
       where b.destination = $1 group by 1`,
      [broker],
    )
    return Object.fromEntries(rows.map(({ instance, n }) => [instance, n]))
  }
  const empty = (broker: string) => until('the outbox is empty', async () => (await scene.left(broker)) === 0)

  it('share the buckets evenly, and share them again when one leaves', async () => {
    const broker = scene.nextBroker()
    const leaseMs = 1_500
    const first = await scene.start({ broker, instance: 'first', leaseMs })
    await until('one has all', async () => (await owners(broker)).first === 32)
    const others = [
      await scene.start({ broker, instance: 'second', leaseMs }),
      await scene.start({ broker, instance: 'third', leaseMs }),
    ]
    await until('three have a third each', async () => {
      const counts = Object.values(await owners(broker))
      return counts.length === 3 && counts.every(n => n >= 10 && n <= 11)
    })
    await first.drain()
    await until('two have half each', async () => {
      const counts = Object.values(await owners(broker))
      return counts.length === 2 && counts.every(n => n === 16)
    })
    await Promise.all(others.map(relay => relay.drain()))
    assert.deepEqual(await owners(broker), {})
  })

  it('publish every row once and every key in order, while rows keep coming', async () => {
    const broker = scene.nextBroker()
    const three = await Promise.all(
      ['a', 'b', 'c'].map(instance => scene.start({ broker, instance, batchMax: 20, leaseMs: 9_000 })),
    )
    await until('all three have their share', async () => {
      const counts = Object.values(await owners(broker))
      return counts.length === 3 && counts.every(n => n >= 10)
    })
    const rows = numbered(40, 50)
    for (let at = 0; at < rows.length; at += 100) await scene.put(broker, 'shared', rows.slice(at, at + 100))
    await empty(broker)
    await Promise.all(three.map(relay => relay.drain()))
    const arrivals = await scene.arrivals('shared')
    assert.equal(arrivals.length, rows.length, 'no relay was killed, so no message is repeated')
    assertFirstCopiesInOrder(arrivals)
    assert.equal(new Set(arrivals.map(({ relay }) => relay)).size, 3)
  })

  for (const { point, copies } of [
    { point: 'relay.leased', copies: 1 },
    { point: 'relay.read', copies: 1 },
    { point: 'relay.published', copies: 2 },
    { point: 'relay.deleted', copies: 1 },
  ]) {
    it(`killed at ${point}: published ${copies} time(s) under one id, then gone`, async () => {
      const broker = scene.nextBroker()
      await scene.put(broker, point, [{ id: 'm-0', key: 'm' }])
      const child = scene.spawn({ broker, instance: 'killed', killAt: point })
      assert.equal(await child.ended, 'SIGKILL')
      assert.equal(await scene.left(broker), point === 'relay.deleted' ? 0 : 1)
      const relay = await scene.start({ broker })
      await empty(broker)
      await relay.drain()
      assert.deepEqual(
        (await scene.arrivals(point)).map(({ id }) => id),
        Array(copies).fill('m-0'),
      )
    })
  }

  it('killed while moving rows inside the database: each arrives exactly once', async () => {
    const broker = scene.nextBroker()
    await scene.put(broker, 'moved', numbered(4, 10))
    const publisher = 'same database'
    const child = scene.spawn({ broker, instance: 'killed', publisher, killAt: 'relay.moved', batchMax: 7 })
    assert.equal(await child.ended, 'SIGKILL')
    const relay = await scene.start({ broker, publisher })
    await empty(broker)
    await relay.drain()
    const { rows } = await scene.pool.query(
      `select m.key, message_id as id from onceward.queue_message m join onceward.queue q on q.id = queue_id
       where q.name = 'moved' order by m.id`,
    )
    assert.equal(rows.length, 40)
    assertFirstCopiesInOrder(rows)
  })

  it('killed again and again under load: nothing is lost, first copies are in order', async () => {
    const broker = scene.nextBroker()
    const keys = numbered(20, 1).map(({ key }) => key)
    let turns = 0
    const feed = async () => {
      const turn = turns++
      await scene.put(
        broker,
        'kills',
        keys.map(key => ({ key, id: `${key}-${turn}` })),
      )
    }
    const stayer = await scene.start({ broker, instance: 'stays', batchMax: 5, leaseMs: 1_500 })
    for (let n = 0; n < 4; n++) {
      const killAt = n % 2 === 0 ? 'relay.published' : 'relay.read'
      const child = scene.spawn({ broker, instance: `killed ${n}`, killAt, batchMax: 5 })
      let alive = true
      void child.ended.then(() => {
        alive = false
      })
      // Fed until it has died: it needs a bucket with rows to get there.
      while (alive) {
        await feed()
        await until('the outbox is short', async () => !alive || (await scene.left(broker)) < 200)
      }
      assert.equal(await child.ended, 'SIGKILL')
    }
    await empty(broker)
    await stayer.drain()
    const arrivals = await scene.arrivals('kills')
    assert.equal(new Set(arrivals.map(({ id }) => id)).size, keys.length * turns)
    assertFirstCopiesInOrder(arrivals)
  })

  it('one that was frozen repeats at most what it had read, and overtakes nothing', async () => {
    const broker = scene.nextBroker()
    await scene.put(broker, 'frozen', numbered(5, 20))
    const child = scene.spawn({ broker, instance: 'frozen', freezeAt: 'relay.read', batchMax: 30 })
    await child.said('frozen')
    const relay = await scene.start({ broker, instance: 'heir', batchMax: 30 })
    await empty(broker)
    await scene.put(
      broker,
      'frozen',
      numbered(5, 20).map(({ key, id }) => ({ key, id: id.replace(/\d+$/, n => `${Number(n) + 20}`) })),
    )
    await empty(broker)
    child.process.kill('SIGCONT')
    await until('the sleeper has joined again', async () => (await owners(broker)).frozen !== undefined)
    const ended = await child.drain()
    await relay.drain()
    const arrivals = await scene.arrivals('frozen')
    assert.equal(new Set(arrivals.map(({ id }) => id)).size, 200)
    assertFirstCopiesInOrder(arrivals)
    const late = arrivals.filter(one => one.relay === 'frozen')
    assert.deepEqual(late, [], `it noticed that its lease had ended: ${JSON.stringify(ended)}`)
  })

  it('one that is frozen in the middle of publishing: its late copies are repeats', async () => {
    const broker = scene.nextBroker()
    await scene.put(broker, 'late', numbered(1, 10))
    const child = scene.spawn({ broker, instance: 'zombie', freezeAt: 'publish' })
    await child.said('frozen')
    const relay = await scene.start({ broker, instance: 'heir' })
    await empty(broker)
    await scene.put(broker, 'late', [{ key: 'k0', id: 'k0-10' }])
    await empty(broker)
    child.process.kill('SIGCONT')
    await until('it has published', async () =>
      (await scene.arrivals('late')).some(one => one.relay === 'zombie'),
    )
    await relay.drain()
    const arrivals = await scene.arrivals('late')
    assertFirstCopiesInOrder(arrivals)
    assert.deepEqual(
      arrivals.map(({ id }) => id),
      [...numbered(1, 11), ...numbered(1, 10)].map(({ id }) => id),
    )
  })
})
