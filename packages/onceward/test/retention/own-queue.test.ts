import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defineConsumer, runConsumer, type SqlTransaction } from 'onceward'
import { createQueue, postgresQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { planPurge } from '../../src/operations/retention/plan-purge.ts'
import { skipWithout } from '../services/services.ts'
import { type MemoryScene, memoryScene, purge, purgeOptions } from './scene.ts'

/** A message that was published `days` ago and never removed from its queue. */
async function queued({ pool }: MemoryScene, queue: string, id: string, days: number) {
  await createQueue(pool, queue)
  await publish(pool, queue, [{ body: JSON.stringify({ id }) }])
  await pool.query(
    `update onceward.queue_message m set published_at = clock_timestamp() - $2 * interval '1 day'
     from onceward.queue q where q.id = m.queue_id and q.name = $1`,
    [queue, days],
  )
}

const reads = ({ pool }: MemoryScene, name: string, queue: string) =>
  pool.query(`select onceward.register_reader($1, 'postgres', $2, '', 'queue', '')`, [name, queue])

describe('a message in a queue of the same database', await skipWithout('postgres'), () => {
  test('keeps its marker and everything younger than itself, until it is removed', async () => {
    await using scene = await memoryScene()
    await queued(scene, 'q', 'stuck', 60)
    await reads(scene, 'remembering', 'q')
    await scene.markers('younger-', 10, 40)
    await scene.markers('older-', 10, 70)
    const planned = await planPurge(scene.pool, scene.consumerId, purgeOptions(scene).retention)
    assert.equal(planned.find(one => one.kind === 'markers')!.heldBack, true)
    await purge(scene)
    assert.deepEqual([await scene.left('older-'), await scene.left('younger-')], [0, 10])
    const { purged_before } = (await scene.horizon())!
    assert.ok(purged_before.getTime() < Date.now() - 60 * 86_400_000, 'no message of the queue is behind it')

    await scene.pool.query('delete from onceward.queue_message')
    await purge(scene)
    assert.equal(await scene.left('younger-'), 0)
  })

  test('of another consumer, or younger than the term, holds nothing back', async () => {
    await using scene = await memoryScene()
    await queued(scene, 'theirs', 'stuck', 60)
    await reads(scene, 'other', 'theirs')
    await queued(scene, 'q', 'fresh', 2)
    await reads(scene, 'remembering', 'q')
    await scene.markers('old-', 10, 40)
    await purge(scene)
    assert.equal(await scene.left('old-'), 0)
  })

  test('is not applied again after a pass, however long it was stuck', async () => {
    await using scene = await memoryScene()
    const { pool } = scene
    await createQueue(pool, 'q')
    await pool.query('create table effect (id text)')
    const consumer = defineConsumer<{ id: string }, SqlTransaction>({
      name: 'remembering',
      owner: 'tests',
      risk: 'money',
      source: postgresQueue('q'),
      identity: { id: m => m.id },
      retention: { markers: '30d' },
      handle: async ({ message, tx }) =>
        void (await tx.query('insert into effect values ($1)', [message.id])),
    })
    const left = async () =>
      (await pool.query('select count(*)::int as n from onceward.queue_message')).rows[0].n as number
    const runToTheEnd = async () => {
      const running = await runConsumer(consumer, { databaseUrl: scene.url })
      await until('the queue is empty', async () => (await left()) === 0)
      await running.drain()
      await running.finished
    }
    await publish(pool, 'q', [{ body: '{"id":"stuck"}' }])
    await runToTheEnd()
    // Its acknowledgement was lost, and the consumer stood for two months.
    await queued(scene, 'q', 'stuck', 61)
    await pool.query(`update onceward.inbox set at = clock_timestamp() - interval '60 days'`)
    const removed = await purge(scene)
    assert.equal(removed.removed.markers, 0)
    await runToTheEnd()
    const { rows } = await pool.query('select id from effect')
    assert.deepEqual(
      rows.map(row => row.id),
      ['stuck'],
    )
  })
})
