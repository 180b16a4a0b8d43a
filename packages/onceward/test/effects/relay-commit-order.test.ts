import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { until } from 'onceward/testing'
import pg from 'pg'
import { publishInTransaction } from '../../src/outbox.ts'
import { skipWithout } from '../services/services.ts'
import { assertFirstCopiesInOrder, type OutboxScene, openOutboxScene } from './outbox-scene.ts'

/** FAILURES 25, 26 and 27, with transactions of a plain `pg` client. */
describe('transactions that commit in another order than they began', await skipWithout('postgres'), () => {
  let scene: OutboxScene
  const clients: pg.Client[] = []

  before(async () => {
    scene = await openOutboxScene()
    await scene.pool.query('create table thing (key text primary key, version integer not null)')
    await scene.pool.query('create table other (n integer)')
  })
  after(async () => {
    await Promise.allSettled(clients.map(client => client.end()))
    await scene.close()
  })

  const connect = async () => {
    const client = new pg.Client(scene.url)
    clients.push(client)
    await client.connect()
    return client
  }
  const write = (client: pg.Client, queue: string, id: string, key: string) =>
    publishInTransaction(client, { broker: 'postgres', queue }, [{ id, key, body: { id } }])
  const arrived = async (queue: string): Promise<{ id: string; key: string }[]> =>
    (
      await scene.pool.query(
        `select m.key, message_id as id from onceward.queue_message m join onceward.queue q on q.id = queue_id
         where q.name = $1 order by m.id`,
        [queue],
      )
    ).rows
  const relayed = () => scene.start({ broker: 'postgres', publisher: 'same database' })

  it('25: a lower id that commits later is never skipped', async () => {
    const [late, early] = [await connect(), await connect()]
    await late.query('begin')
    await write(late, 'q25', 'late-0', 'late')
    await early.query('begin')
    await write(early, 'q25', 'early-0', 'early')
    await early.query('commit')
    const relay = await relayed()
    await until('the newer one is out', async () => (await arrived('q25')).length === 1)
    await late.query('commit')
    await until('both are out', async () => (await arrived('q25')).length === 2)
    assert.deepEqual(
      (await arrived('q25')).map(({ id }) => id),
      ['early-0', 'late-0'],
    )
    await relay.drain()
  })

  it('25: of many writers whose commits cross, no row is lost', async () => {
    const relay = await relayed()
    const writers = await Promise.all(Array.from({ length: 6 }, connect))
    const ids: string[] = []
    for (let turn = 0; turn < 15; turn++) {
      await Promise.all(writers.map(client => client.query('begin')))
      for (const [n, client] of writers.entries()) {
        ids.push(`w${n}-${turn}`)
        await write(client, 'crossing', `w${n}-${turn}`, `w${n}`)
      }
      for (const client of writers.toReversed()) await client.query('commit')
    }
    await until('all are out', async () => (await arrived('crossing')).length >= ids.length)
    await relay.drain()
    const arrivals = await arrived('crossing')
    assert.deepEqual(arrivals.map(({ id }) => id).sort(), ids.sort())
    assertFirstCopiesInOrder(arrivals)
  })

  it('26: a lower id in a newer transaction: both are published, each key in order', async () => {
    const [older, newer] = [await connect(), await connect()]
    await older.query('begin')
    await older.query('insert into other values (1)')
    await newer.query('begin')
    await newer.query('insert into other values (2)')
    const xid = async (client: pg.Client) =>
      BigInt((await client.query('select pg_current_xact_id()::text as xid')).rows[0].xid)
    assert.ok((await xid(older)) < (await xid(newer)))
    await write(newer, 'q26', 'newer-0', 'newer')
    await write(older, 'q26', 'older-0', 'older')
    await older.query('commit')
    const relay = await relayed()
    await until('the older transaction is out', async () => (await arrived('q26')).length === 1)
    await newer.query('commit')
    await until('the lower id is not passed over', async () => (await arrived('q26')).length === 2)
    await relay.drain()
  })

  it('26: the order of a key is the order in which its transactions locked it', async () => {
    const relay = await relayed()
    await scene.pool.query(`insert into thing select 'k' || n, 0 from generate_series(0, 3) as n`)
    const writers = await Promise.all(Array.from({ length: 8 }, connect))
    await Promise.all(
      writers.map(async (client, n) => {
        for (let turn = 0; turn < 20; turn++) {
          const key = `k${(n + turn) % 4}`
          await client.query('begin')
          const { rows } = await client.query(
            'update thing set version = version + 1 where key = $1 returning version',
            [key],
          )
          await write(client, 'locked', `${key}-${rows[0].version}`, key)
          await client.query('commit')
        }
      }),
    )
    await until('all are out', async () => (await arrived('locked')).length === 160)
    await relay.drain()
    assertFirstCopiesInOrder(await arrived('locked'))
  })

  it('27: a transaction that stays open delays no other row, and its row is published when it commits', async () => {
    const pinning = await connect()
    await pinning.query('begin isolation level repeatable read')
    await write(pinning, 'q27', 'pinned-0', 'same')
    const relay = await relayed()
    for (let n = 1; n <= 5; n++) {
      const client = await connect()
      await write(client, 'q27', `same-${n}`, 'same')
      await until(`row ${n} is out`, async () => (await arrived('q27')).length === n)
    }
    await pinning.query('commit')
    await until('the pinned one too', async () => (await arrived('q27')).length === 6)
    await relay.drain()
  })

  it('a transaction that rolls back publishes nothing', async () => {
    const client = await connect()
    await client.query('begin')
    await write(client, 'rolled', 'a-0', 'a')
    await client.query('rollback')
    const relay = await relayed()
    await write(client, 'rolled', 'a-1', 'a')
    await until('the other is out', async () => (await arrived('rolled')).length === 1)
    assert.deepEqual(await arrived('rolled'), [{ key: 'a', id: 'a-1' }])
    await relay.drain()
  })
})
