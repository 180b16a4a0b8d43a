import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { createPostgresSource, postgresQueue, publish } from '../../src/drivers/postgres/queue/index.ts'
import type { Delivery } from '../../src/ports/source.ts'
import { skipWithout } from '../services/services.ts'
import { mortal, type Opened, receiveCount, type TestQueues, testQueues, texts } from './queue-under-test.ts'

const guard = await skipWithout('postgres')
const queues = guard.skip ? (null as unknown as TestQueues) : await testQueues()
after(() => queues?.close())

describe('a PostgreSQL queue with key order', guard, () => {
  it('offers key order only when declared so', () => {
    const order = (keyOrder: boolean) =>
      createPostgresSource(postgresQueue('q', { keyOrder }), { pool: queues.pool }).capabilities.order
    assert.deepEqual(
      [order(false), order(true)],
      [
        { key: false, partition: false },
        { key: true, partition: false },
      ],
    )
  })

  it('gives a key to one subscription at a time, in order', async () => {
    const queue = await queues.createQueue()
    const [keys, perKey] = [20, 60]
    await queues.publishKeyed(
      queue,
      ...Array.from(
        { length: keys * perKey },
        (_, i) => [`k${i % keys}`, `${Math.floor(i / keys)}`] as const,
      ),
    )
    const next = new Map<string, number>()
    const holder = new Map<string, { who: number; count: number }>()
    let left = keys * perKey
    const take = (who: number, { key, body }: Delivery) => {
      const held = holder.get(key!) ?? { who, count: 0 }
      assert.equal(held.who, who, `${key} is held by another subscription`)
      assert.equal(Number(body.toString()), next.get(key!) ?? 0)
      holder.set(key!, { who, count: held.count + 1 })
      next.set(key!, Number(body.toString()) + 1)
    }
    const giveUp = ({ key }: Delivery) => {
      const held = holder.get(key!)!
      if (held.count === 1) holder.delete(key!)
      else holder.set(key!, { ...held, count: held.count - 1 })
    }
    const work = async (subscription: Opened, who: number) => {
      while (left > 0) {
        const deliveries = await subscription.receive(7)
        for (const one of deliveries) take(who, one)
        for (let turns = 0; turns < 5; turns++) await turn()
        for (const one of deliveries) giveUp(one)
        assert.deepEqual(await subscription.settle(deliveries), { missed: 0 })
        left -= deliveries.length
        if (left === 0) await Promise.all(subscriptions.map(one => one.close()))
      }
    }
    const subscriptions = await Promise.all(
      [0, 1, 2].map(() => queues.open(queue, { keyOrder: true, inFlightMax: 20 })),
    )
    await Promise.all(subscriptions.map(work))
    assert.deepEqual(
      [...next.values()],
      Array.from({ length: keys }, () => perKey),
    )
  })

  it('withholds later messages of a key while another subscription holds an earlier one, but no other messages', async () => {
    const queue = await queues.createQueue()
    await queues.publishKeyed(queue, ['k', 'k1'])
    const holder = await queues.open(queue, { keyOrder: true })
    const held = await receiveCount(holder, 1)
    const rival = await queues.open(queue, { keyOrder: true, inFlightMax: 10 })
    await holder.settle([])
    const full = await queues.open(queue, { keyOrder: true, inFlightMax: 1 })
    await publish(queues.pool, queue, [{ body: 'loose' }])
    const loose = await Promise.race([receiveCount(rival, 1), receiveCount(full, 1), receiveCount(holder, 1)])
    assert.deepEqual(texts(loose), ['loose'])
    await holder.settle(held)
  })

  it('delivers a key in order after its lease has expired, and nothing of it before', async () => {
    const queue = await queues.createQueue()
    await queues.publishKeyed(queue, ['k', 'k1'], ['k', 'k2'])
    const { pool, die } = mortal(queues.pool)
    const dead = await queues.open(queue, { keyOrder: true, inFlightMax: 2, pool })
    assert.deepEqual(texts(await receiveCount(dead, 2)), ['k1', 'k2'])
    die()
    await queues.publishKeyed(queue, ['k', 'k3'], ['other', 'o1'])
    const heir = await queues.open(queue, { keyOrder: true })
    assert.deepEqual(texts(await heir.receive(10)), ['o1'])
    await queues.pool.query(
      `update onceward.queue_lease l set until = clock_timestamp()
       where id = (select lease_id from onceward.queue_message m join onceward.queue q on q.id = m.queue_id
         where q.name = $1 and convert_from(body, 'utf8') = 'k1')`,
      [queue],
    )
    assert.deepEqual(texts(await receiveCount(heir, 3)), ['k1', 'k2', 'k3'])
  })

  it('withholds later messages of a key while an operator has locked an earlier one', async () => {
    const queue = await queues.createQueue()
    await queues.publishKeyed(queue, ['k', 'k1'], ['k', 'k2'], ['j', 'j1'])
    const operator = await queues.pool.connect()
    await operator.query('begin')
    await operator.query(
      `select from onceward.queue_message where convert_from(body, 'utf8') = 'k1' and key = 'k' for update`,
    )
    const subscription = await queues.open(queue, { keyOrder: true })
    assert.deepEqual(texts(await subscription.receive(10)), ['j1'])
    await operator.query('rollback')
    operator.release()
    assert.deepEqual(texts(await receiveCount(subscription, 2)), ['k1', 'k2'])
  })
})
