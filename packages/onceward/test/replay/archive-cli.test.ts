import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { skipWithout } from '../services/services.ts'
import { archiveDead, buried, folderOf } from './archive-scene.ts'
import { replayCli } from './run-cli.ts'
import { Scene } from './scene.ts'

describe('onceward replay --archive', await skipWithout('postgres'), () => {
  test('previews included and excluded messages, and applies them', async t => {
    const scene = await Scene.open(t)
    await buried(scene, { id: 'a' }, { id: 'b' })
    await archiveDead(scene)
    const folder = folderOf(scene)
    writeFileSync(join(folder, 'facts.markers.1.jsonl'), '{}\n')
    const { module, run, said } = await replayCli(scene)
    const ask = ['create', module, '--mode', 'replay', '--because', 'mended', '--archive', folder]
    const [dry, both, ranged, empty] = await Promise.all([
      run(...ask, '--dry-run'),
      run(...ask, '--file', 'x'),
      run(...ask, '--to', '2026-11-01T00:00:00Z'),
      run(...ask.slice(0, -1), '/nowhere'),
    ])
    assert.deepEqual(dry.out.request.selection, { of: 'archive', path: folder })
    assert.deepEqual([both.code, ranged.code, empty.code], [2, 2, 1])
    assert.match(empty.out.error, /\/nowhere does not exist/)
    assert.deepEqual(await scene.rows('select from onceward.campaign'), [])

    const { id } = (await run(...ask)).out.campaign
    const looked = await run('preview', module, id, '--dry-run')
    assert.equal(looked.out.campaign.state, 'created')
    const [file] = readdirSync(folder).filter(name => name.includes('.deadLetters.'))
    const { archive, unit, oldestMs } = looked.out.plan
    assert.deepEqual(
      [archive.files.length, archive.files[0].name, archive.files[0].lines, unit],
      [1, file, 2, 'rows'],
    )
    assert.match(archive.files[0].digest, /^[0-9a-f]{64}$/)
    assert.ok(Date.now() - oldestMs > 86_400_000)
    const { stdout } = await said(['preview', module, id])
    assert.match(stdout, /files of markers, which hold no message +│? *1/)
    const ran = await run('run', module, id)
    assert.deepEqual([ran.code, ran.out.campaign.state], [0, 'ran'])
    assert.match((await said(['show', id])).stdout, /files of markers, which hold no message/)
    const { out: shown } = await run('show', id)
    assert.deepEqual([shown.outcomes, shown.done, shown.extent], [{ applied: 2 }, 2, 2])
    assert.deepEqual(await scene.applied('replay'), ['a', 'b'])
  })
})
