import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { projection } from 'onceward'
import { finishCampaign, verifyCampaign } from '../../src/replay/campaign/steer-campaign.ts'
import { skipWithout } from '../services/services.ts'
import { type Fact, Scene } from './scene.ts'

interface Versioned extends Fact {
  readonly version: number
}

const version = (key: string, number: number): Versioned => ({ id: `${key} ${number}`, key, version: number })

describe('keys that a projection left for a rebuild', await skipWithout('postgres'), () => {
  test('are repaired from the log once the missing fact is there, and are off the list then', async t => {
    const scene = await Scene.open(t)
    await scene.pool.query('create table latest (id text primary key, version bigint not null, fact text)')
    const apply = projection<Fact>({
      table: 'latest',
      key: { id: (fact: Fact) => fact.key },
      version: { version: (fact: Fact) => (fact as Versioned).version },
      columns: { fact: (fact: Fact) => fact.id },
      gap: 'rebuild',
    })
    const consumer = scene.contract({ handle: undefined as never, effect: { apply }, replay: {} })
    const gappy = [version('k', 1), version('k', 3), version('k', 4), version('still', 2)]
    await scene.write(...gappy)
    await scene.live(consumer)
    const left = () => scene.rows('select key from onceward.rebuild_key order by key')
    assert.deepEqual(await left(), [{ key: 'k' }, { key: 'still' }])
    const { writeFile } = await import('node:fs/promises')
    const whole = [version('k', 1), version('k', 2), version('k', 3), version('k', 4), version('still', 2)]
    const path = `${scene.path}.whole`
    await writeFile(path, whole.map(one => JSON.stringify(one)).join('\n'))
    const replay = await scene.replay(consumer)
    const id = await scene.planned(replay, {
      mode: 'repair',
      rebuildKeys: true,
      selection: { of: 'file', path },
    })
    await replay.run(id)
    assert.deepEqual(await scene.rows('select id, version::int from latest'), [{ id: 'k', version: 4 }])
    await verifyCampaign(scene.pool, id)
    await finishCampaign(scene.pool, id)
    assert.deepEqual(await left(), [{ key: 'still' }])
  })
})
