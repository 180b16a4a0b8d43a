import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { after, describe, it } from 'node:test'
import { createPool } from '../../src/drivers/postgres/pool.ts'
import { queueDepth } from '../../src/drivers/postgres/queue/index.ts'
import { skipWithout } from '../services/services.ts'
import {
  brokenConnection,
  poolWith,
  receiveCount,
  type TestQueues,
  testQueues,
  texts,
  until,
  withoutHeartbeat,
} from './queue-under-test.ts'

const guard = await skipWithout('postgres')
const queues = guard.skip ? (null as unknown as TestQueues) : await testQueues()
after(() => queues?.close())

describe('the lease of a subscription', guard, () => {
  it('expires after its process was killed; the messages are redelivered with a count', async () => {
    const queue = await queues.createQueue()
    await queues.publish(queue, 'a', 'b')
    const child = spawn(
      process.execPath,
      [
        ...process.execArgv.filter(arg => !arg.startsWith('--test')),
        `${import.meta.dirname}/lease-holder.ts`,
        queues.url,
        queue,
      ],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    const [line] = await once(createInterface(child.stdout), 'line')
    assert.equal(line, 'holding a,b')
    child.kill('SIGKILL')
    const heir = await queues.open(queue)
    const deliveries = await receiveCount(heir, 2)
    assert.deepEqual(texts(deliveries), ['a', 'b'])
    assert.deepEqual(
      deliveries.map(one => [one.redelivered, one.deliveryCount]),
      [
        [true, 1],
        [true, 1],
      ],
    )
    assert.deepEqual(await heir.settle(deliveries), { missed: 0 })
  })

  it('lasts as long as it is extended', async () => {
    const queue = await queues.createQueue()
    await queues.publish(queue, 'a')
    const holder = await queues.open(queue, { leaseMs: 5_000 })
    const deliveries = await receiveCount(holder, 1)
    const rival = await queues.open(queue)
    const { rows } = await queues.pool.query(`select clock_timestamp() + interval '6 s' as late`)
    await until(
      async () =>
        (await queues.pool.query('select clock_timestamp() > $1 as passed', [rows[0].late])).rows[0].passed,
    )
    assert.ok(holder.isLive(deliveries[0]!))
    assert.deepEqual(await holder.settle(deliveries), { missed: 0 })
    assert.deepEqual(await queueDepth(queues.pool, queue), { messages: 0, leased: 0 })
    assert.deepEqual(rival.events, [{ kind: 'connected' }])
  })

  it('fences a zombie: messages that it settles after the takeover stay', async () => {
    const queue = await queues.createQueue()
    await queues.publish(queue, 'a', 'b')
    let leases = 0
    // Otherwise it may lease the two again before the other subscription does.
    const onlyOnce = poolWith(withoutHeartbeat(queues.pool), 'insert into onceward.queue_lease', run =>
      leases++ === 0 ? run() : new Promise(() => {}),
    )
    const zombie = await queues.open(queue, { leaseMs: 3_000, pool: onlyOnce })
    const stale = await receiveCount(zombie, 2)
    assert.ok(zombie.isLive(stale[0]!))
    const heir = await queues.open(queue)
    const taken = await receiveCount(heir, 2)
    assert.ok(!zombie.isLive(stale[0]!))
    assert.deepEqual(await zombie.settle(stale), { missed: 2 })
    assert.deepEqual(await queueDepth(queues.pool, queue), { messages: 2, leased: 2 })
    assert.deepEqual(await heir.settle(taken), { missed: 0 })
    assert.deepEqual(await queueDepth(queues.pool, queue), { messages: 0, leased: 0 })
  })

  it('is replaced after its loss: buffered deliveries are dropped and redelivered', async () => {
    const queue = await queues.createQueue()
    await queues.publish(queue, 'a', 'b')
    let frozen = true
    const thawing = poolWith(queues.pool, 'update onceward.queue_lease set until', run =>
      frozen ? new Promise(() => {}) : run(),
    )
    const subscription = await queues.open(queue, { leaseMs: 3_000, pool: thawing })
    const [stale] = await receiveCount(subscription, 1)
    await until(() => !subscription.isLive(stale!))
    frozen = false
    const again = await receiveCount(subscription, 2)
    assert.deepEqual(texts(again), ['a', 'b'])
    assert.deepEqual(
      subscription.events.map(event => event.kind),
      ['connected', 'disconnected', 'connected'],
    )
    assert.deepEqual(await subscription.settle([stale!, ...again]), { missed: 1 })
    assert.deepEqual(await queueDepth(queues.pool, queue), { messages: 0, leased: 0 })
  })
})

describe('a subscription whose connection breaks', guard, () => {
  it('reports it, reconnects and continues', async () => {
    const queue = await queues.createQueue()
    // The application name distinguishes its sessions from those of the subscriptions above, which also wait
    // for the lock.
    const url = new URL(queues.url)
    url.searchParams.set('application_name', 'breaks')
    const pool = createPool(url.href)
    const subscription = await queues.open(queue, { pool })
    const operator = await queues.pool.connect()
    await operator.query('begin; lock table onceward.queue_message in access exclusive mode')
    const ended = `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'breaks' and wait_event_type = 'Lock'
        and query like '%for update skip locked%'`
    await until(async () => ((await queues.pool.query(ended)).rowCount ?? 0) > 0)
    await until(() => subscription.events.some(event => event.kind === 'disconnected'))
    await operator.query('rollback')
    operator.release()
    await queues.publish(queue, 'after')
    const deliveries = await receiveCount(subscription, 1)
    assert.deepEqual(
      subscription.events.map(event => event.kind),
      ['connected', 'disconnected', 'connected'],
    )
    assert.deepEqual(await subscription.settle(deliveries), { missed: 0 })
    await subscription.close()
    await pool.end()
  })

  it('frees messages whose lease was not confirmed', async () => {
    const queue = await queues.createQueue()
    await queues.publish(queue, 'a', 'b')
    let lost = 0
    const lossy = poolWith(queues.pool, 'for update skip locked', async run => {
      const answer = await run()
      if (answer.rowCount === 0 || lost++ > 0) return answer
      throw brokenConnection()
    })
    const deliveries = await receiveCount(await queues.open(queue, { pool: lossy }), 2)
    assert.deepEqual(texts(deliveries), ['a', 'b'])
    assert.ok(lost > 0)
    assert.deepEqual(
      deliveries.map(one => one.deliveryCount),
      [1, 1],
    )
  })

  it('repeats unconfirmed settlements, and reports them as missed meanwhile', async () => {
    const queue = await queues.createQueue()
    await queues.publish(queue, 'a')
    let lost = 0
    const lossy = poolWith(queues.pool, 'delete from onceward.queue_message', run =>
      lost++ === 0 ? Promise.reject(brokenConnection()) : run(),
    )
    const subscription = await queues.open(queue, { pool: lossy })
    assert.deepEqual(await subscription.settle(await receiveCount(subscription, 1)), { missed: 1 })
    await until(async () => (await queueDepth(queues.pool, queue)).messages === 0)
  })
})
