import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { park } from 'onceward'
import { fixPayload } from '../../src/operations/parking/fix-parked.ts'
import { listParked } from '../../src/operations/parking/list-parked.ts'
import { readCampaign } from '../../src/replay/campaign/campaign.ts'
import { approveCampaign, campaignFindings } from '../../src/replay/campaign/steer-campaign.ts'
import { People } from '../parking/people.ts'
import { skipWithout } from '../services/services.ts'
import { factContract, Scene } from './scene.ts'

describe('a campaign on parked messages', await skipWithout('postgres'), () => {
  test('skips an unapproved fix, although the campaign is approved, and applies it once approved', async t => {
    const scene = await Scene.open(t)
    await scene.pool.query('select onceward.create_roles()')
    const people = new People(scene.pool, scene.url)
    try {
      const bob = await people.login(['onceward_approver'], { person: true })
      await scene.write({ id: 'a' })
      const risk = 'money' as const
      await scene.live(scene.contract({ risk, handle: async () => park('not today') }))
      const consumer = scene.contract({ risk, handle: factContract('').handle! })
      const [row] = await listParked(scene.pool, { countMax: 1 })
      const body = Buffer.from(JSON.stringify({ id: 'a', key: 'mended' }))
      const { approval } = await fixPayload(scene.pool, consumer, { id: row!.id, body, because: 'mended' })

      const replay = await scene.replay(consumer)
      const approved = async () => {
        const id = await scene.planned(replay, { selection: { of: 'parked' } })
        const { planDigest } = await readCampaign(scene.pool, id)
        await approveCampaign(bob.pool, id, { because: 'looked at', planDigest: planDigest! })
        return id
      }
      const first = await approved()
      await replay.run(first)
      assert.deepEqual(await scene.outcomes(first), { left: 1 })
      const [left] = await campaignFindings(scene.pool, first, 1)
      assert.match(left!.reason, /its fix needs the approval of a person other/)
      assert.deepEqual(await scene.applied('replay'), [])

      await people.approve(approval!)
      await replay.run(await approved())
      assert.deepEqual(await scene.applied('replay'), ['a'])
    } finally {
      await people.close()
    }
  })
})
