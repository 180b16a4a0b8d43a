import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { skipWithout } from '../services/services.ts'
import { replayCli } from './run-cli.ts'
import { facts, Scene } from './scene.ts'

describe('onceward replay', await skipWithout('postgres'), () => {
  test('takes a campaign from create to finish, and refuses steps out of order', async t => {
    const scene = await Scene.open(t)
    await scene.write(...facts(25))
    await scene.passed(scene.contract())
    const { module, run } = await replayCli(scene)
    const ask = ['--mode', 'replay', '--because', 'a drill']
    const dry = await run('create', module, ...ask, '--dry-run')
    assert.deepEqual([dry.code, await scene.rows('select from onceward.campaign')], [0, []])
    const parked = await run('create', module, ...ask, '--from', 'parked', '--key', 'k', '--dry-run')
    assert.deepEqual(parked.out.request.selection, { of: 'parked', keys: ['k'] })
    const wrong = await run('create', module, ...ask, '--from', 'yesterday')
    assert.deepEqual([wrong.code, wrong.out.code], [2, 'usage'])
    const { out } = await run('create', module, ...ask)
    const { id } = out.campaign as { id: string }
    const early = await run('run', module, id)
    assert.deepEqual([early.code, /preview it/.test(early.out.error!)], [2, true])
    const preview = await run('preview', module, id)
    assert.equal((preview.out.plan as { unit: string }).unit, 'bytes')
    const ran = await run('run', module, id)
    assert.deepEqual([ran.code, (ran.out.campaign as { state: string }).state], [0, 'ran'])
    assert.equal((await run('cancel', id, '--consumer', 'another', '--because', 'x')).code, 2)
    const verified = await run('verify', id)
    assert.equal(verified.out.complete, true)
    assert.equal((await run('finish', id, '--consumer', 'facts')).code, 0)
    const shown = await run('show', id)
    assert.deepEqual(shown.out.outcomes, { applied: 25 })
    const { campaigns } = (await run('list', '--consumer', 'facts')).out as unknown as {
      campaigns: { state: string }[]
    }
    assert.deepEqual(
      campaigns.map(one => one.state),
      ['finished'],
    )
  })
})
