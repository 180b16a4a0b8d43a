import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createPool, createPostgresStore, migrate, type PostgresStore } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { leaseEffects } from '../../src/drivers/postgres/ledger/lease-effects.ts'
import { recordResults } from '../../src/drivers/postgres/ledger/record-results.ts'
import { settleMessages } from '../../src/drivers/postgres/queue/settle-messages.ts'
import type { Enrolment } from '../../src/ports/enrolment.ts'
import { createDatabase, skipWithout } from '../services/services.ts'

const facts = {
  generation: 1,
  owner: 'tests',
  risk: 'low value',
  mode: 'live',
  handlerVersion: '1',
  instance: 'test',
  handlerTimeoutMs: 30_000,
  deliveriesMax: 100,
  dedup: 'marker' as const,
  deadLetterTo: null,
}
const digest = Buffer.alloc(33)
const markers = (...ids: string[]) => ids.map(id => ({ id, digest, position: null }))
const leaseLost = { code: 'lease_lost' }

/** What stands between two processes, each fence alone: no other check of the engine runs before it. */
describe('a fence of the PostgreSQL store', await skipWithout('postgres'), () => {
  let store: PostgresStore
  let drop: () => Promise<void>
  let names = 0
  const enrol = () => store.enroll({ ...facts, name: `fence_${++names}` })
  const query = async (text: string, values: unknown[] = []) => (await store.pool.query(text, values)).rows

  before(async () => {
    const database = await createDatabase()
    const pool = createPool(database.url, { max: 6 })
    await migrate(pool)
    store = createPostgresStore({ pool })
    drop = async () => {
      await pool.end()
      await database.drop()
    }
  })
  after(() => drop())

  const blockedOn = (count: number) =>
    until(`${count} statements wait for a lock`, async () => {
      const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return (await query(waiting)).length === count
    })

  test('batches that share markers lock them in one order, for any order of their messages', async () => {
    const enrolment = await enrol()
    const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const release = Promise.withResolvers<void>()
    const holders = ['held-1', 'held-2'].map((id, index) =>
      store.transaction(enrolment, async session => {
        await session.insertMarkers(markers(id))
        begun[index]!.resolve()
        await release.promise
        throw new Error('given up')
      }),
    )
    const ended = Promise.allSettled(holders)
    await Promise.all(begun.map(({ promise }) => promise))
    const batches = [markers('a', 'held-1', 'b'), markers('b', 'held-2', 'a')].map(batch =>
      store.transaction(enrolment, session => session.insertMarkers(batch)),
    )
    await blockedOn(2)
    release.resolve()
    for (const { status } of await ended) assert.equal(status, 'rejected')
    const answers = await Promise.all(batches)
    assert.equal(answers.flat().filter(({ kind }) => kind === 'first').length, 4)
  })

  test('a marker that another transaction inserted is seen, with its status', async () => {
    const enrolment = await enrol()
    await store.transaction(enrolment, session => session.insertMarkers(markers('a', 'b')))
    const answers = await store.transaction(enrolment, session => session.insertMarkers(markers('b', 'c')))
    assert.deepEqual(
      answers.map(({ kind }) => kind),
      ['seen', 'first'],
    )
  })

  test('a marker commits with its transaction or not at all', async () => {
    const enrolment = await enrol()
    const work = store.transaction(enrolment, async session => {
      await session.insertMarkers(markers('gone'))
      throw new Error('the handler fails')
    })
    await assert.rejects(work)
    assert.deepEqual(await query(`select from onceward.inbox where message_id = 'gone'`), [])
  })

  test('a transaction that the server rolled back is not confirmed', async () => {
    const enrolment = await enrol()
    const work = store.transaction(enrolment, async session => {
      await session.insertMarkers(markers('aborted'))
      const { tx } = session.handlerTransaction()
      await tx.query('select 1/0').catch(() => {})
    })
    await assert.rejects(work)
    assert.deepEqual(await query(`select from onceward.inbox where message_id = 'aborted'`), [])
  })

  const at = (next: string) => ({ incarnation: '1', next })
  const advance = (enrolment: Enrolment, epoch: number, from: string | null, next: string) =>
    store.transaction(enrolment, session =>
      session.log!.advance([{ partition: 'p', epoch, incarnation: '1', from, next }]),
    )

  test('a position moves only under the epoch of its owner', async () => {
    const enrolment = await enrol()
    const epochs = []
    for (let turn = 0; turn < 2; turn++)
      epochs.push((await store.checkpoints!.take(enrolment, ['p']))[0]!.epoch)
    assert.deepEqual(epochs, [1, 2])
    await store.checkpoints!.begin(enrolment, 'p', 2, at('5'))
    await assert.rejects(advance(enrolment, 1, null, '6'), { code: 'ownership_lost' })
    await advance(enrolment, 2, null, '6')
  })

  test('a position moves only from where its batch expected it', async () => {
    const enrolment = await enrol()
    await store.checkpoints!.take(enrolment, ['p'])
    await store.checkpoints!.begin(enrolment, 'p', 1, at('7'))
    await assert.rejects(advance(enrolment, 1, '5', '6'), { code: 'position_moved' })
    await advance(enrolment, 1, '7', '8')
  })

  async function heldRow(
    enrolment: Enrolment,
    orderKey: string | null = null,
    state: 'stored' | 'parked' = 'stored',
  ): Promise<string> {
    const [row] = await query(
      `insert into onceward.held (consumer_id, run_id, state, message_id, digest, order_key, due_at, epoch, lease_until,
         origin, delivery_count, headers, properties, body)
       values ($1, $2, $5, $3, '', $4, clock_timestamp(), 2, null, 'test', 0, '{}', '{}', '') returning id::text`,
      [enrolment.consumerId, enrolment.runId, `held-${++names}`, orderKey, state],
    )
    return row.id
  }

  test('work of a lease that another worker took over is neither tried, finished nor delayed', async () => {
    const enrolment = await enrol()
    const stale = { row: await heldRow(enrolment), epoch: 1 }
    const putOff = { ...stale, delayMs: 5, attempts: 1, reason: '', failureClass: '', code: '', error: null }
    await assert.rejects(
      store.transaction(enrolment, ({ held }) =>
        held!.confirmLeases([{ ...stale, headOf: null, asks: false }]),
      ),
      leaseLost,
    )
    await assert.rejects(
      store.transaction(enrolment, ({ held }) => held!.finish([{ ...stale, key: null }], [])),
      leaseLost,
    )
    await assert.rejects(
      store.transaction(enrolment, ({ held }) => held!.finish([], [putOff])),
      leaseLost,
    )
  })

  test('work behind a parked message of its key is not leased', async () => {
    const enrolment = await enrol()
    await heldRow(enrolment, 'k')
    const request = { countMax: 10, leaseMs: 10_000, ordered: true, after: null }
    await query(`insert into onceward.blocked_key (consumer_id, key) values ($1, 'k')`, [
      enrolment.consumerId,
    ])
    assert.deepEqual((await store.work!.lease(enrolment, request)).rows, [])
    await query('delete from onceward.blocked_key where consumer_id = $1', [enrolment.consumerId])
    assert.equal((await store.work!.lease(enrolment, request)).rows.length, 1)
  })

  test('a result is recorded only under the epoch of the lease, which every lease raises', async () => {
    const enrolment = await enrol()
    const name = `fence_${names}`
    const intent = {
      messageId: 'm',
      businessKey: null,
      effectType: 'webhook',
      target: 't',
      key: 'k',
      body: Buffer.from('{}'),
      contentType: 'application/json',
      digest,
    }
    const request = (one: typeof intent) =>
      store.transaction(enrolment, session => session.outgoing!.request([one]))
    assert.deepEqual(await request(intent), ['recorded'])
    assert.deepEqual(await request(intent), ['suppressed duplicate'])
    assert.deepEqual(await request({ ...intent, digest: Buffer.alloc(33, 1) }), ['conflict'])
    const lease = async () => {
      const free = [{ name: 't', slots: 1, attemptsMax: 5, leaseMs: 0, delayMaxMs: 60_000 }]
      return (await leaseEffects(store.pool, name, free))[0]!
    }
    const [first, second] = [await lease(), await lease()]
    assert.deepEqual([first.epoch, second.epoch], [1, 2])
    const done = { transaction: null, state: 'completed' as const, attempts: 1, delayMs: null }
    const told = { status: 200, digest: null, note: null, excerpt: null }
    const record = ({ id, epoch }: typeof first) =>
      recordResults(store.pool, [{ id, epoch, ...done, ...told }])
    assert.deepEqual(await record(first), [false])
    assert.deepEqual(await query('select state from onceward.ledger where id = $1', [first.id]), [
      { state: 'in flight' },
    ])
    assert.deepEqual(await record(second), [true])
  })

  test('messages of one statement keep their order in the outbox', async () => {
    const enrolment = await enrol()
    const message = { broker: 'kafka', exchange: null, queue: 'q', key: 'k', headers: '{}', properties: '{}' }
    const ids = ['one', 'two', 'three']
    const messages = ids.map(messageId => ({ ...message, messageId, body: digest }))
    await store.transaction(enrolment, session => session.outgoing!.publish(messages))
    const rows = await query(`select message_id from onceward.outbox where queue = 'q' order by id`)
    assert.deepEqual(
      rows.map(row => row.message_id),
      ids,
    )
  })

  test('messages of a queue are removed only under the lease that they carry', async () => {
    const queue = (await query(`insert into onceward.queue (name) values ('q') returning id`))[0].id
    const [{ id }] = await query(
      `insert into onceward.queue_message (queue_id, lease_id, body) values ($1, 2, '') returning id::text`,
      [queue],
    )
    assert.equal(await settleMessages(store.pool, queue, '1', [id]), 0)
    assert.equal(await settleMessages(store.pool, queue, '2', [id]), 1)
  })

  test('rows that an operator selects are redriven as they were shown, and in the order of their key', async () => {
    const enrolment = await enrol()
    const [name, ids] = [`fence_${names}`, [] as string[]]
    for (let row = 0; row < 2; row++) ids.push(await heldRow(enrolment, 'k', 'parked'))
    const start = async (digestSql: string) => {
      const text = `select onceward.redrive_start('request', $1, $2, ${digestSql}, null, 'it is mended') as answer`
      return (await query(text, [name, ids.slice(1)]))[0].answer
    }
    assert.match((await start(`'\\x00'`)).why, /changed since it was shown/)
    assert.equal((await start('onceward.selection_digest($2)')).ok, true)
    const [{ answer }] = await query(`select onceward.redrive_stage('request', 10) as answer`)
    assert.deepEqual([answer.moved, answer.left], [0, 1])
    const left = await query(`select why from onceward.redrive_row`)
    assert.deepEqual(left, [{ why: `waits behind row ${ids[0]}` }])
  })
})
