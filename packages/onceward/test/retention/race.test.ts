import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { until } from 'onceward/testing'
import { digestOf } from '../../src/message/digest.ts'
import { startCounting } from '../delivery/counting.ts'
import { skipWithout } from '../services/services.ts'
import { prepareRemembering, remembering } from './remembering.ts'
import { memoryScene } from './scene.ts'
import { spawnPurge } from './spawn-purge.ts'

const count = 20_000

describe('removing beside running batches', await skipWithout('postgres'), () => {
  test('two processes that remove and two consumers that insert the same ids never deadlock', async () => {
    await using scene = await memoryScene()
    const { pool } = scene
    await prepareRemembering(pool)
    await using left = await startCounting(scene.url, remembering as never)
    await using right = await startCounting(scene.url, remembering as never)
    const orders = {
      url: scene.url,
      consumerId: scene.consumerId,
      folder: null,
      point: null,
      hit: 0,
      witness: '',
    }
    const purges = [1, 2].map(() => spawnPurge({ ...orders, goOn: true }))
    await Promise.all(purges.map(purge => purge.running))
    // Old ids come again, in both directions, while their markers are being removed; fresh ones between them.
    for (let from = 0; from < count; from += 1_000) {
      const again = ids('old-', from, from + 1_000)
      await writeOld(scene, again)
      left.publish(...ids('new-', from, from + 1_000), ...again)
      right.publish(...again.toReversed(), ...ids('new-', from, from + 1_000).toReversed())
      await until('the queues are short', () => left.queue.unsettled + right.queue.unsettled < 2_000, {
        deadlineMs: 60_000,
      })
    }
    await until('all is settled', () => left.queue.unsettled + right.queue.unsettled === 0, {
      deadlineMs: 60_000,
    })
    for (const purge of purges) purge.process.send('stop')
    for (const purge of purges) assert.equal((await purge.ended).code, 0)
    assert.equal(await scene.deadlocks(), 0)
    assert.equal((await pool.query('select count(*)::int from onceward.held')).rows[0].count, 0)
    assert.equal(await scene.left('new-'), count)
    const { rows } = await pool.query(`select times from count`)
    const kept = await untouched(scene)
    const oldAgain = (await scene.left('old-')) - kept
    assert.ok(oldAgain > 0, 'ids came again after their markers were removed')
    assert.ok(oldAgain < count, 'and before')
    assert.equal(rows[0].times, count + oldAgain, 'one effect for each marker that was not there')
    assert.equal((await scene.horizon())!.purged_count, count - kept)
  })
})

function ids(prefix: string, from: number, to: number) {
  return Array.from({ length: to - from }, (_, n) => ({
    id: `${prefix}${String(from + n).padStart(8, '0')}`,
    key: '',
  }))
}

/** Markers of these very messages, 40 days old. */
async function writeOld(
  { pool, consumerId }: Awaited<ReturnType<typeof memoryScene>>,
  messages: readonly { readonly id: string }[],
): Promise<void> {
  const digests = messages.map(message => digestOf(Buffer.from(JSON.stringify(message)), {}, []))
  await pool.query(
    `insert into onceward.inbox (consumer_id, run_id, at, status, message_id, digest)
     select $1, 1, clock_timestamp() - interval '40 days', 'applied', one.id, one.digest
     from unnest($2::text[], $3::bytea[]) as one (id, digest)`,
    [consumerId, messages.map(message => message.id), digests],
  )
}

/** Old markers that no pass came to see. */
async function untouched({ pool, consumerId }: Awaited<ReturnType<typeof memoryScene>>): Promise<number> {
  const { rows } = await pool.query(
    `select count(*)::int from onceward.inbox where consumer_id = $1 and at < clock_timestamp() - interval '30 days'`,
    [consumerId],
  )
  return rows[0].count
}
