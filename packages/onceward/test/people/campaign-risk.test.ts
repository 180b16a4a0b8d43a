import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { renameConsumer } from '../../src/operations/server/names.ts'
import { readCampaign } from '../../src/replay/campaign/campaign.ts'
import { approveCampaign, cancelCampaign } from '../../src/replay/campaign/steer-campaign.ts'
import { People } from '../parking/people.ts'
import { facts, Scene } from '../replay/scene.ts'
import { skipWithout } from '../services/services.ts'

const needs = /needs an unexpired approval .* by a person other/
const log = { of: 'log', start: 'first', end: 'next' } as const

describe('what a campaign risks', await skipWithout('postgres'), () => {
  test('is not taken from the request: an unknown name counts as the highest risk', async t => {
    const scene = await Scene.open(t)
    await scene.pool.query('select onceward.create_roles()')
    const people = new People(scene.pool, scene.url)
    try {
      const ann = await people.login(['onceward_operator'], { person: true })
      await scene.write(...facts(2))
      const unknown = scene.contract({ name: 'petty_cash', risk: 'low value' })
      const asked = await scene.replay(unknown, { databaseUrl: ann.url })
      const { id } = await asked.create({ mode: 'replay', selection: log, reason: 'only a look' })
      const { risk, needsApproval } = await readCampaign(scene.pool, id)
      assert.deepEqual({ risk, needsApproval }, { risk: 'unknown', needsApproval: true })
      const forensic = await asked.create({ mode: 'forensic', selection: log, reason: 'only a look' })
      assert.equal(forensic.needsApproval, false)
    } finally {
      await people.close()
    }
  })

  test('follows a rename: created for a consumer of low value, it does not run on money', async t => {
    const scene = await Scene.open(t)
    await scene.write(...facts(5))
    const money = scene.contract({ name: 'payments', risk: 'money' })
    await scene.live(money)
    const disguise = scene.contract({ name: 'petty_cash', risk: 'low value' })
    const id = await scene.planned(await scene.replay(disguise))
    const rename = () => renameConsumer(scene.pool, 'payments', 'petty_cash', 'a smaller name')
    await assert.rejects(rename(), /already has campaigns/)
    await scene.pool.query(`alter table onceward.campaign disable trigger campaign_guard`)
    await scene.pool.query(`update onceward.campaign set consumer_name = 'other'`)
    await rename()
    await scene.pool.query(`update onceward.campaign set consumer_name = 'petty_cash'`)
    await scene.pool.query(`alter table onceward.campaign enable trigger campaign_guard`)
    const replay = await scene.replay(scene.contract({ name: 'petty_cash', risk: 'money' }))
    await assert.rejects(replay.run(id), needs)
    const { risk, needsApproval } = await readCampaign(scene.pool, id)
    assert.deepEqual([risk, needsApproval], ['low value', false], 'the refused start took its judgement back')
    await cancelCampaign(scene.pool, id, 'not needed')
    assert.deepEqual(await scene.applied('replay'), [])
  })

  test('a name that only a campaign has recorded may still be given to its consumer', async t => {
    const scene = await Scene.open(t)
    await scene.write(...facts(2))
    await scene.live(scene.contract({ name: 'orders' }))
    const id = await scene.planned(await scene.replay(scene.contract({ name: 'order_intake' })))
    await cancelCampaign(scene.pool, id, 'not needed')
    await renameConsumer(scene.pool, 'orders', 'order_intake', 'renamed')
    await scene.live(scene.contract({ name: 'order_intake' }))
    assert.deepEqual(await scene.rows('select max(times) as most from effect'), [{ most: 1 }])
  })

  test('is judged again before it runs: a lowered risk keeps its approval, a raised one needs it', async t => {
    const scene = await Scene.open(t)
    await scene.write(...facts(2))
    await scene.live(scene.contract({ risk: 'money' }))
    const lowered = scene.contract({ risk: 'low value' })
    const replay = await scene.replay(lowered)
    const id = await scene.planned(replay)
    await assert.rejects(replay.run(id), needs)
    await scene.live(lowered)
    await assert.rejects(replay.run(id), needs, 'what was asked for under money stays so')
    assert.deepEqual(
      await scene.rows(
        `select action, consumer, detail from onceward.audit where action = 'contract risk lowered'`,
      ),
      [{ action: 'contract risk lowered', consumer: 'facts', detail: { from: 'money', to: 'low value' } }],
    )
    const later = await scene.planned(replay)
    assert.equal((await readCampaign(scene.pool, later)).needsApproval, false)
    await scene.live(scene.contract({ risk: 'regulatory' }))
    await assert.rejects(replay.run(later), needs)
  })

  test('a process that runs a campaign does not lower it, and of two generations the higher risk counts', async t => {
    const scene = await Scene.open(t)
    const people = new People(scene.pool, scene.url)
    try {
      await scene.pool.query('select onceward.create_roles()')
      const bob = await people.login(['onceward_approver'], { person: true })
      await scene.write(...facts(2))
      await scene.live(scene.contract({ risk: 'money' }))
      const lowered = await scene.replay(scene.contract({ risk: 'low value' }))
      const id = await scene.planned(lowered)
      const { planDigest } = await readCampaign(scene.pool, id)
      await approveCampaign(bob.pool, id, { because: 'looked at', planDigest: planDigest! })
      await lowered.run(id)
      assert.deepEqual(await scene.rows('select risk from onceward.consumer'), [{ risk: 'money' }])
      const next = scene.contract({ risk: 'low value', generation: 2 })
      await scene.passed(next)
      const second = await scene.replay(next)
      const of = await scene.planned(second)
      assert.equal((await readCampaign(scene.pool, of)).risk, 'money')
      await assert.rejects(second.run(of), needs)
    } finally {
      await people.close()
    }
  })
})
