import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { until } from 'onceward/testing'
import { verifyCampaign } from '../../src/replay/campaign/steer-campaign.ts'
import { skipWithout } from '../services/services.ts'
import { facts, Scene } from './scene.ts'

/** The live consumer has given its try of a message back: it comes again as a retry copy. */
const giveBack = `
  with live as (
    select c.id from onceward.consumer c join onceward.campaign p on p.consumer_name = c.name and p.live_generation = c.generation
    where p.id = $1),
  gone as (delete from onceward.inbox i using live where i.consumer_id = live.id and i.message_id = 'f00001' returning i.message_id)
  insert into onceward.attempt (consumer_id, message_id, number, run_id, failure_class, code, error)
  select live.id, gone.message_id, 1, 1, 'transient', '', '' from live, gone`

const waits = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like 'lock table%'`

describe('a swap that waits for its lock', await skipWithout('postgres'), () => {
  test('checks again under the lock: messages that live has not finished refuse it', async t => {
    const scene = await Scene.open(t)
    await scene.write(...facts(3))
    await scene.live(scene.contract())
    const replay = await scene.replay(scene.contract())
    const id = await scene.planned(replay, { mode: 'rebuild' })
    await replay.run(id)
    assert.equal((await verifyCampaign(scene.pool, id)).complete, true)
    const reader = await scene.pool.connect()
    await reader.query('begin; lock table effect in access share mode')
    const swapped = replay.swap(id).then(
      () => 'swapped',
      (error: Error) => error.message,
    )
    await until('the swap waits', async () => (await scene.rows(waits)).length === 1)
    await scene.pool.query(giveBack, [id])
    await reader.query('commit')
    reader.release()
    assert.match(await swapped, /1 messages .*1 are not read or are being retried/)
    await scene.pool.query('delete from onceward.attempt')
    assert.equal((await replay.swap(id)).messages, 1)
  })
})
