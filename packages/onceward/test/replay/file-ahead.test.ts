import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { selectionOf } from '../../src/cli/commands/replay/selection-flags.ts'
import { previewText } from '../../src/cli/commands/replay/text.ts'
import { skipWithout } from '../services/services.ts'
import { type Fact, facts, Scene } from './scene.ts'

async function fileOf(scene: Scene, ...all: readonly Fact[]) {
  const path = `${scene.path}.taken`
  await writeFile(path, all.map(one => JSON.stringify(one)).join('\n'))
  return { of: 'file', path } as const
}

const asked = async (scene: Scene) =>
  (await scene.rows<{ key: string }>('select effect_key as key from onceward.ledger order by 1')).map(
    row => row.key,
  )
const ids = (some: readonly Fact[]) => some.map(({ id }) => id)

describe('a file campaign whose messages may still arrive live', await skipWithout('postgres'), () => {
  test('is refused with their number, and runs once live has finished them: each effect is requested', async t => {
    const scene = await Scene.open(t)
    const consumer = scene.contract()
    await scene.write(...facts(10))
    await scene.live(consumer)
    await scene.write(...facts(5, 'late'))
    const selection = await fileOf(scene, ...facts(10), ...facts(5, 'late'), ...facts(5, 'late'))
    const replay = await scene.replay(consumer)
    const { id } = await replay.create({ mode: 'replay', selection, reason: 'a test' })
    const seen = await replay.preview(id)
    assert.equal(seen.unknownToLive, 5)
    assert.match(previewText(seen), /^WARNING: 5 messages of the file have no marker of the live consumer/m)
    await assert.rejects(replay.run(id), /5 messages of the file .*--never-live.*Nothing was changed/)
    assert.deepEqual(await scene.applied('replay'), [])
    await scene.live(consumer)
    await replay.run(id)
    assert.deepEqual(await scene.outcomes(id), { duplicate: 20 })
    assert.deepEqual(await asked(scene), ids([...facts(10), ...facts(5, 'late')]))
  })

  test('of a repair counts only those of its keys', async t => {
    const scene = await Scene.open(t)
    const consumer = scene.contract()
    await scene.write({ id: 'a', key: 'k' })
    await scene.live(consumer)
    const selection = await fileOf(scene, { id: 'a', key: 'k' }, { id: 'b', key: 'other' })
    const replay = await scene.replay(consumer)
    const counted = async (key: string) => {
      const request = { mode: 'repair', selection: { ...selection, keys: [key] }, reason: 'x' } as const
      return (await replay.preview((await replay.create(request)).id)).unknownToLive
    }
    assert.deepEqual([await counted('k'), await counted('other')], [0, 1])
  })

  test('runs where they are declared never to arrive, where nothing is requested, and where the campaign requests effects', async t => {
    const scene = await Scene.open(t)
    const consumer = scene.contract()
    await scene.write(...facts(1))
    await scene.live(consumer)
    const selection = await fileOf(scene, ...facts(3, 'old'))
    const replay = await scene.replay(consumer)
    const unknown = async (request: object) => {
      const { id } = await replay.create({ mode: 'replay', selection, reason: 'x', ...request })
      return (await replay.preview(id)).unknownToLive
    }
    assert.equal(await unknown({}), 3)
    assert.equal(await unknown({ mode: 'forensic' }), 0)
    assert.equal(await unknown({ mode: 'backfill', effects: 'requested' }), 0)
    const silent = await scene.replay(scene.contract({ effect: {}, handle: () => undefined }))
    const { id } = await silent.create({ mode: 'replay', selection, reason: 'x' })
    assert.equal((await silent.preview(id)).unknownToLive, 0)
    const said = await scene.planned(replay, { selection: { ...selection, neverLive: true } })
    await replay.run(said)
    assert.deepEqual(await scene.outcomes(said), { applied: 3 })
  })

  test('is declared with --never-live, for files only', async t => {
    const flags = { from: 'first', to: 'now', neverLive: true }
    assert.deepEqual(selectionOf({ ...flags, file: 'x' }), { of: 'file', path: 'x', neverLive: true })
    assert.throws(() => selectionOf(flags), /--never-live requires --file/)
    const scene = await Scene.open(t)
    const replay = await scene.replay(scene.contract())
    const selection = { of: 'log', start: 'first', end: 'next', neverLive: true } as never
    await assert.rejects(
      replay.create({ mode: 'replay', selection, reason: 'x' }),
      /neverLive applies to the messages of a file/,
    )
  })
})
