import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { ignore, park, reject, retryAfter } from 'onceward'
import { until } from 'onceward/testing'
import { skipWithout } from '../services/services.ts'
import { Scene, write } from './scene.ts'

const workOnly = { parts: ['worker'] as const }

describe('stored mode', await skipWithout('postgres'), () => {
  let scene: Scene
  before(async () => {
    scene = await Scene.open()
  })
  after(() => scene.close())

  it('stores, settles, and applies later, once', async () => {
    await scene.store('later', {}, { id: 'a' }, { id: 'b' })
    assert.deepEqual(await scene.done('later'), [])
    assert.deepEqual(await scene.markers('later'), ['a stored', 'b stored'])
    const worker = await scene.start('later', {}, workOnly)
    await until('both are applied', async () => (await scene.held('later')).length === 0)
    await worker.drain()
    assert.deepEqual((await scene.done('later')).sort(), ['a', 'b'])
    assert.deepEqual(await scene.markers('later'), ['a applied', 'b applied'])
  })

  it('recognises a stored message: the same content is already held, other content is a conflict', async () => {
    const first = { id: 'a', part: 'one' }
    await scene.store('again', {}, first, first, { id: 'a', part: 'other' })
    await scene.store('again', {}, first)
    const held = await scene.held('again')
    assert.deepEqual(
      held.map(row => `${row.state} ${row.code}`),
      ['stored ', 'quarantined conflict'],
    )
    const worker = await scene.start('again', {})
    await until('it is applied', async () => (await scene.done('again')).length === 1)
    await scene.publish('again', first)
    await until('the late copy is settled', async () => (await scene.depth('again')) === 0)
    await worker.drain()
    assert.deepEqual(await scene.done('again'), ['a'])
    assert.deepEqual(await scene.markers('again'), ['a applied'])
  })

  it('sets aside unreadable messages at once', async () => {
    await scene.store('unreadable', {}, { id: '' })
    assert.deepEqual(
      (await scene.held('unreadable')).map(row => `${row.state} ${row.code}`),
      ['quarantined id_missing'],
    )
  })

  it('delays a failed message durably while others continue, and parks one that keeps failing', async () => {
    const tries: string[] = []
    const changes = {
      handle: async (context: Parameters<typeof write>[0]) => {
        const { id } = context.message
        tries.push(id)
        await write(context, 'retried')
        if (id === 'bad' || (id === 'once' && tries.filter(one => one === id).length === 1))
          throw new Error('not now')
      },
    }
    await scene.store('retried', changes, { id: 'once' }, { id: 'bad' }, { id: 'good' })
    const worker = await scene.start('retried', changes, workOnly)
    await until('only the parked one is held', async () => {
      const held = await scene.held('retried')
      return held.length === 1 && held[0]!.state === 'parked'
    })
    await worker.drain()
    assert.deepEqual((await scene.done('retried')).sort(), ['good', 'once'])
    const [parked] = await scene.held('retried')
    assert.deepEqual([parked!.state, parked!.message_id, parked!.attempts], ['parked', 'bad', 2])
    assert.deepEqual(await scene.markers('retried'), ['bad parked', 'good applied', 'once applied'])
    const { rows } = await scene.pool.query(
      `select message_id, max(number)::int as attempts from onceward.attempt join onceward.consumer c on c.id = consumer_id
       where c.name = 'retried' group by 1 order by 1`,
    )
    assert.deepEqual(rows, [
      { message_id: 'bad', attempts: 2 },
      { message_id: 'once', attempts: 1 },
    ])
  })

  it('applies verdicts as inline mode does', async () => {
    const verdicts = { i: ignore('nothing to do'), p: park('for people'), r: reject('never') }
    const changes = { handle: ({ message }: { message: { id: string } }) => verdicts[message.id as 'i'] }
    await scene.store('verdicts', changes, { id: 'i' }, { id: 'p' }, { id: 'r' })
    const worker = await scene.start('verdicts', changes, workOnly)
    await until('all are decided', async () =>
      (await scene.markers('verdicts')).every(marker => !marker.endsWith('stored')),
    )
    await worker.drain()
    assert.deepEqual(await scene.markers('verdicts'), ['i ignored', 'p parked', 'r dead'])
    assert.deepEqual(
      (await scene.held('verdicts')).map(row => row.state),
      ['parked', 'dead'],
    )
  })

  it('passes the business key of a rejected message to the one stored behind it', async () => {
    const changes = {
      identity: { id: (m: { id: string }) => m.id, businessKey: (m: { part?: string }) => m.part },
      handle: ({ message }: { message: { id: string } }) =>
        message.id === 'first' ? reject('wrong amount') : undefined,
    }
    await scene.store('business', changes, { id: 'first', part: 'k' }, { id: 'second', part: 'k' })
    assert.deepEqual(await scene.markers('business'), ['first stored', 'second stored'])
    const worker = await scene.start('business', changes)
    await until('the corrected one is applied', async () =>
      (await scene.markers('business')).includes('second applied'),
    )
    await scene.publish('business', { id: 'third', part: 'k' })
    await until('another is a duplicate', async () =>
      (await scene.markers('business')).includes('third duplicate'),
    )
    await worker.drain()
    assert.deepEqual(await scene.markers('business'), ['first dead', 'second applied', 'third duplicate'])
  })

  it('records external intents in the transaction that finishes the work', async () => {
    const changes = {
      effect: { external: { gateway: { url: 'http://127.0.0.1:9/charge', allowPrivate: true } } },
      handle: async (context: Parameters<typeof write>[0]) => {
        await write(context, 'intents')
        context.effects.external('gateway', { key: context.message.id, body: {} })
      },
    }
    await scene.store('intents', changes, { id: 'a' })
    const ledger = async () =>
      (await scene.pool.query("select effect_key from onceward.ledger where consumer_name = 'intents'")).rows
    assert.deepEqual(await ledger(), [])
    const worker = await scene.start('intents', changes, workOnly)
    await until('it is done', async () => (await scene.held('intents')).length === 0)
    await worker.drain()
    assert.deepEqual(await ledger(), [{ effect_key: 'a' }])
  })

  it('a worker that leaves releases its leases at once', async () => {
    const begun = Promise.withResolvers<void>()
    const changes = {
      handle: async () => {
        begun.resolve()
        await new Promise(() => {})
      },
    }
    await scene.store('leaves', changes, { id: 'a' })
    const stuck = await scene.start('leaves', changes, workOnly)
    await begun.promise
    assert.equal((await scene.held('leaves'))[0]!.leased, true)
    await scene.leave(stuck)
    const worker = await scene.start('leaves', {}, workOnly)
    await until('another has done it', async () => (await scene.done('leaves')).length === 1)
    await worker.drain()
    assert.equal(scene.counted('leasesExpired'), 0)
  })

  it('retryAfter of a handler waits in the table and not in memory', async () => {
    let saidAt: string | null = null
    const changes = {
      handle: async () => {
        if (saidAt !== null) return undefined
        const { rows } = await scene.pool.query('select clock_timestamp()::text as at from pg_sleep(0.05)')
        saidAt = rows[0].at as string
        return retryAfter(3_600_000)
      },
    }
    await scene.store('put_off', changes, { id: 'a' })
    const worker = await scene.start('put_off', changes, workOnly)
    await until('it is put off', async () => (await scene.held('put_off'))[0]!.attempts === 1)
    const [row] = await scene.held('put_off')
    assert.deepEqual([row!.due, row!.leased, row!.state], [false, false, 'stored'])
    const { rows } = await scene.pool.query(
      `select due_at >= $2::timestamptz + interval '1 hour' as late from onceward.held where id = $1`,
      [row!.id, saidAt],
    )
    assert.equal(
      rows[0].late,
      true,
      'the delay counts from the verdict, not from the start of the transaction',
    )
    await scene.pool.query('update onceward.held set due_at = clock_timestamp() where id = $1', [row!.id])
    await until('it is done', async () => (await scene.held('put_off')).length === 0)
    await worker.drain()
  })
})
