import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { until } from 'onceward/testing'
import { createPool, type OwnPool, type PooledClient } from '../../../src/drivers/postgres/pool.ts'
import { startProxyFor } from '../../proxy/tcp-proxy.ts'
import { skipWithout } from '../../services/services.ts'
import { interruptible } from '../scene.ts'
import { openRig, type Rig } from './rig.ts'

describe('a dispatcher whose database is in trouble', await skipWithout('postgres'), () => {
  let rig: Rig

  before(async () => {
    rig = await openRig()
  })
  after(() => rig.close())

  it('pauses while the database is unavailable and resumes, losing no answer', async () => {
    const consumer = rig.nextConsumer()
    const key = `${consumer}-key`
    const pool = interruptible(rig.scene.pool)
    rig.gateway.plan(key, 'hold, then charge')
    await rig.scene.intend(consumer, [key])
    const dispatcher = await rig.start(consumer, {}, { pool })
    await until('the call is made', () => rig.gateway.callsFor(key).length === 1)
    pool.unavailable = true
    rig.gateway.release()
    await until('recording was tried', () => pool.refused >= 3)
    await until('it says so', () => dispatcher.tally.storeUnavailable)
    pool.unavailable = false
    await until('it completes', async () => (await rig.scene.row(consumer, key)).state === 'completed')
    await rig.scene.intend(consumer, [`${key}-2`])
    await until(
      'the next completes',
      async () => (await rig.scene.row(consumer, `${key}-2`)).state === 'completed',
    )
    assert.deepEqual([rig.gateway.callsFor(key).length, dispatcher.tally.storeUnavailable], [1, false])
    await dispatcher.drain()
  })

  for (const lost of ['claim', 'commit'] as const) {
    it(`counts no attempt and no doubt when the answer to its ${lost} is lost: the one call it may make is made`, async () => {
      const consumer = rig.nextConsumer()
      const key = `${consumer}-key`
      await rig.scene.intend(consumer, [key])
      const proxy = await startProxyFor(rig.scene.url)
      const pool = createPool(proxy.through(rig.scene.url))
      let claims = 0
      let cuts = 0
      proxy.toClient(bytes => {
        if (bytes.includes(key)) claims++
        if (cuts > 0 || claims === 0 || !bytes.includes(lost === 'claim' ? key : 'COMMIT')) return bytes
        cuts++
        setImmediate(() => proxy.cut())
        return null
      })
      const dispatcher = await rig.start(consumer, { attemptsMax: 1 }, { pool })
      await until('it completes', async () => (await rig.scene.row(consumer, key)).state === 'completed')
      await dispatcher.drain()
      const { attempts, epoch } = await rig.scene.row(consumer, key)
      assert.deepEqual(
        { calls: rig.gateway.callsFor(key).length, attempts, epoch, cuts },
        { calls: 1, attempts: 1, epoch: lost === 'claim' ? 1 : 2, cuts: 1 },
      )
      await pool.end()
      await proxy.close()
    })
  }

  it('leaves rows that another dispatcher has leased, when its own lease was undone', async () => {
    const consumer = rig.nextConsumer()
    const key = `${consumer}-key`
    await rig.scene.intend(consumer, [key])
    rig.gateway.plan(key, 'hold, then charge')
    const pool = undoneOnce(rig.scene.pool, async () => {
      await rig.start(consumer, {})
      await until('the other calls', () => rig.gateway.callsFor(key).length === 1)
    })
    const dispatcher = await rig.start(consumer, {}, { pool })
    await until('it has returned its leases', () => pool.recorded === 1)
    const { state, epoch, attempts } = await rig.scene.row(consumer, key)
    assert.deepEqual({ state, epoch, attempts }, { state: 'in flight', epoch: 1, attempts: 1 })
    rig.gateway.release()
    await until('it completes', async () => (await rig.scene.row(consumer, key)).state === 'completed')
    assert.equal(rig.gateway.callsFor(key).length, 1)
    await dispatcher.drain()
  })

  it('survives its sessions being ended by the server', async () => {
    const consumer = rig.nextConsumer()
    const keys = Array.from({ length: 200 }, (_, index) => `${consumer}-${index}`)
    await rig.scene.intend(consumer, keys)
    const dispatcher = await rig.start(consumer, { concurrencyMax: 2, timeoutMs: 1_000 }, { leaseMs: 2_000 })
    // Its own session stays: another of the pool may be ending while it is asked.
    const operator = createPool(rig.scene.url, { max: 1 })
    let cuts = 0
    await until('all complete', async () => {
      if (cuts++ < 10) {
        await operator.query(
          'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
        )
      }
      return (await rig.scene.states(consumer).catch(() => ({}) as Record<string, number>)).completed === 200
    })
    assert.ok(cuts >= 10)
    assert.equal(keys.filter(key => rig.gateway.charges.has(key)).length, 200)
    await dispatcher.drain()
    await operator.end()
  })
})

/**
 * The first lease that finds something is undone by the server before its COMMIT arrives, which the client
 * hears after `meanwhile`.
 */
function undoneOnce(pool: OwnPool, meanwhile: () => Promise<void>) {
  let undone = false
  const wrapped = {
    recorded: 0,
    end: () => pool.end(),
    async query(text: string, values?: unknown[]) {
      const result = await pool.query(text, values)
      if (text.includes('update onceward.ledger')) wrapped.recorded++
      return result
    },
    async connect() {
      const client = await pool.connect()
      let found = 0
      const query = async (text: string, values?: unknown[]) => {
        if (text !== 'commit' || found === 0 || undone) {
          const result = await client.query(text, values)
          found = result.rows?.length ?? 0
          return result
        }
        undone = true
        await client.query('rollback')
        await meanwhile()
        throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
      }
      const on = () => {}
      return { query, on, release: (destroy?: boolean) => client.release(destroy) } as unknown as PooledClient
    },
  }
  return wrapped
}
