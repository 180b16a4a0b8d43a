import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openReplay } from 'onceward'
import { readCampaign } from '../../src/replay/campaign/campaign.ts'
import { approveCampaign, cancelCampaign } from '../../src/replay/campaign/steer-campaign.ts'
import { People, refusal } from '../parking/people.ts'
import { skipWithout } from '../services/services.ts'
import { Scene } from './scene.ts'

describe('the roles of people and processes', await skipWithout('postgres'), () => {
  test('a process neither approves a campaign nor rewrites its history; an approver approves', async t => {
    const scene = await Scene.open(t)
    await scene.pool.query('select onceward.create_roles()')
    const people = new People(scene.pool, scene.url)
    try {
      await scene.write({ id: 'a' })
      const consumer = scene.contract({ risk: 'money' })
      await scene.live(consumer)
      const id = await scene.planned(await scene.replay(consumer))
      const { planDigest } = await readCampaign(scene.pool, id)
      const approval = { because: 'looked at', planDigest: planDigest! }
      const runner = await people.login(['onceward_run'], { person: false })
      const approver = await people.login(['onceward_approver'], { person: true })
      await assert.rejects(approveCampaign(runner.pool, id, approval), /permission denied/)
      for (const table of ['campaign_event', 'campaign_approval', 'held_action', 'ledger_action'])
        assert.match(await refusal(runner.pool, `delete from onceward.${table}`), /^42501/)
      assert.match(
        await refusal(runner.pool, `insert into onceward.campaign_step values ('created', 'running')`),
        /^42501/,
      )
      await approveCampaign(approver.pool, id, approval)
      const operator = await people.login(['onceward_operator'], { person: true })
      const asked = await openReplay(consumer, { databaseUrl: operator.url })
      const second = await scene.planned(asked)
      await cancelCampaign(operator.pool, second, 'not needed')
      await asked.close()
      assert.equal((await readCampaign(scene.pool, second)).requestedBy, operator.name)
      assert.match(
        await refusal(operator.pool, `insert into onceward.campaign_approval (campaign_id) values (1)`),
        /^42501/,
      )
      assert.match(
        await refusal(
          runner.pool,
          `select onceward.campaign_event_of(c, 'forged', '') from onceward.campaign c`,
        ),
        /^42501/,
      )
      const [event] = await scene.rows(
        `select actor from onceward.campaign_event where campaign_id = $1 and action = 'approved'`,
        id,
      )
      assert.deepEqual(event, { actor: approver.name })
    } finally {
      await people.close()
    }
  })
})
