import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { park } from 'onceward'
import { createTestSurroundings } from 'onceward/testing'
import { previewText } from '../../src/cli/commands/replay/text.ts'
import { verifyCampaign } from '../../src/replay/steer-campaign.ts'
import { realSurroundings } from '../../src/runtime/real-surroundings.ts'
import { skipWithout } from '../services/services.ts'
import { facts, Scene } from './scene.ts'

describe('a campaign that reaches further than live has come', await skipWithout('postgres'), () => {
  test('is named by the preview and warned of when it runs, where external effects would never be asked for', async t => {
    const scene = await Scene.open(t)
    const consumer = scene.contract()
    await scene.write(...facts(10))
    await scene.live(consumer)
    const { lines, log } = createTestSurroundings()
    const replay = await scene.replay(consumer, { world: { ...realSurroundings(), log } })
    const warned = () => lines.filter(({ level }) => level === 'warn').map(({ message }) => message)
    const request = {
      mode: 'replay',
      selection: { of: 'log', start: 'first', end: 'next' },
      reason: 'a test',
    } as const
    const level = await replay.create(request)
    const seen = await replay.preview(level.id)
    assert.deepEqual(seen.aheadOfLive, [])
    assert.doesNotMatch(previewText(seen), /WARNING/)
    await replay.run(level.id)
    assert.deepEqual(warned(), [])

    await scene.write(...facts(5, 'late'))
    const [range] = seen.plan.ranges
    const ahead = await replay.create(request)
    const beyond = await replay.preview(ahead.id)
    const [whole] = beyond.plan.ranges
    assert.deepEqual(beyond.aheadOfLive, [{ ...whole, from: range!.to }])
    assert.match(previewText(beyond), /WARNING: The live consumer has not come to .* NEVER asked for/)
    for (const other of [{ mode: 'forensic' }, { mode: 'backfill', effects: 'requested' }] as const) {
      const harmless = await replay.create({ ...request, ...other })
      assert.deepEqual((await replay.preview(harmless.id)).aheadOfLive, [], other.mode)
    }
    await replay.run(ahead.id)
    assert.equal(warned().length, 1)
    assert.match(warned()[0]!, /NEVER asked for/)
    assert.deepEqual(await scene.outcomes(ahead.id), { applied: 5, duplicate: 10 })
    assert.deepEqual(
      await scene.rows('select kind, count(*)::integer as count from onceward.would_have group by kind'),
      [
        { kind: 'external', count: 5 },
        { kind: 'publish', count: 5 },
      ],
    )
  })

  test('is warned of by the swap of a rebuild, with what live held', async t => {
    const scene = await Scene.open(t)
    const consumer = scene.contract()
    await scene.write({ id: 'held' })
    await scene.live(scene.contract({ handle: async () => park('not today') }))
    await scene.write(...facts(3))
    const { lines, log } = createTestSurroundings()
    const replay = await scene.replay(consumer, { world: { ...realSurroundings(), log } })
    const id = await scene.planned(replay, { mode: 'rebuild' })
    await replay.run(id)
    await verifyCampaign(scene.pool, id)
    const { messages, closed } = await replay.swap(id, { accept: { effect: 'live had nothing' } })
    assert.deepEqual([messages, closed], [3, 1])
    const warned = lines.filter(({ level }) => level === 'warn').map(({ message }) => message)
    assert.equal(warned.length, 1)
    assert.match(warned[0]!, /had not come to 3 messages .* and held 1: .* NEVER asked for/)
  })
})
