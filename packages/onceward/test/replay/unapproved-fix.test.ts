import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { park } from 'onceward'
import { fixPayload } from '../../src/operations/parking/fix-parked.ts'
import { listParked } from '../../src/operations/parking/list-parked.ts'
import { readCampaign } from '../../src/replay/campaign/campaign.ts'
import { approveCampaign } from '../../src/replay/campaign/steer-campaign.ts'
import { People } from '../parking/people.ts'
import { skipWithout } from '../services/services.ts'
import { archiveDead, folderOf, givingUp } from './archive-scene.ts'
import { type FactContract, Scene } from './scene.ts'

type Handle = NonNullable<FactContract['handle']>
const risk = 'money' as const

/**
 * Somebody fixes the payload of the one message that is set aside; who else is asked to look at it is up to
 * the test.
 */
async function fixed(scene: Scene, people: People, handle: Handle) {
  const bob = await people.login(['onceward_approver'], { person: true })
  await scene.write({ id: 'a', key: 'as it came' })
  await scene.live(scene.contract({ risk, handle }))
  const seen: (string | undefined)[] = []
  const consumer = scene.contract({ risk, handle: async ({ message }) => void seen.push(message.key) })
  const [row] = await listParked(scene.pool, { countMax: 1 })
  const body = Buffer.from(JSON.stringify({ id: 'a', key: 'a million' }))
  const { approval } = await fixPayload(scene.pool, consumer, { id: row!.id, body, because: 'mended' })
  const replay = await scene.replay(consumer)
  const run = async (request: Parameters<Scene['planned']>[1]) => {
    const id = await scene.planned(replay, request)
    const { planDigest, needsApproval } = await readCampaign(scene.pool, id)
    if (needsApproval)
      await approveCampaign(bob.pool, id, { because: 'these files', planDigest: planDigest! })
    await replay.run(id)
  }
  return { seen, run, approval: approval! }
}

describe('an unapproved fix', await skipWithout('postgres'), () => {
  for (const approves of [false, true])
    test(`is ${approves ? 'archived once it is approved' : 'not archived: the message is, as it came'}`, async t => {
      const scene = await Scene.open(t)
      await scene.pool.query('select onceward.create_roles()')
      const people = new People(scene.pool, scene.url)
      try {
        const { seen, run, approval } = await fixed(scene, people, givingUp('a'))
        if (approves) await people.approve(approval)
        await archiveDead(scene)
        assert.deepEqual(await scene.rows('select from onceward.held'), [])
        await run({ selection: { of: 'archive', path: folderOf(scene) } })
        assert.deepEqual(seen, [approves ? 'a million' : 'as it came'])
      } finally {
        await people.close()
      }
    })

  test('is not read from held rows, where a rebuild would apply it', async t => {
    const scene = await Scene.open(t)
    await scene.pool.query('select onceward.create_roles()')
    const people = new People(scene.pool, scene.url)
    try {
      const { seen, run, approval } = await fixed(scene, people, (async () => park('not today')) as Handle)
      const selection = { of: 'held', states: ['parked'] } as const
      await run({ mode: 'rebuild', selection })
      await people.approve(approval)
      await run({ mode: 'rebuild', selection })
      assert.deepEqual(seen, ['as it came', 'a million'])
    } finally {
      await people.close()
    }
  })
})
