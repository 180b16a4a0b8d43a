import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { skipWithout } from '../services/services.ts'
import { type CaseOptions, caseOptions, fact, ProjectionScene, type Server } from './projection-scene.ts'

const needed = await skipWithout('postgres')
for (const server of ['as it is', 'before 18'] as const)
  describe(`projection, the server ${server}`, needed, () => testOn(server))

function testOn(server: Server): void {
  let scene: ProjectionScene
  before(async () => {
    scene = await ProjectionScene.open(server)
  })
  after(() => scene.close())

  it('writes the newest fact of each key, and a whole batch in one statement', async () => {
    const table = await scene.table('plain')
    const facts = [fact('a', 1), fact('b', 1), fact('a', 2), fact('a', 3)]
    const { outcomes, results } = await scene.drive('plain', caseOptions(table), [facts, [fact('b', 2)]])
    assert.deepEqual(await scene.rows(table), ['a 3 s3 a-v3', 'b 2 s2 b-v2'])
    assert.deepEqual(outcomes, { applied: 5 })
    assert.deepEqual(results, {})
    assert.deepEqual(await scene.notes('plain'), [])
  })

  it('marks an older fact as stale', async () => {
    const table = await scene.table('older')
    const { outcomes, results } = await scene.drive('older', caseOptions(table), [
      [fact('a', 1), fact('a', 2)],
      [fact('a', 1, { id: 'late', state: 'wrong' })],
    ])
    assert.deepEqual(await scene.rows(table), ['a 2 s2 a-v2'])
    assert.deepEqual(outcomes, { applied: 2, stale: 1 })
    assert.deepEqual(results, { stale: 1 })
    assert.deepEqual(await scene.notes('older'), ['late stale'])
    assert.deepEqual(await scene.markers('older'), ['a-v1 applied', 'a-v2 applied', 'late stale'])
  })

  it('recognises the same version under another id as a duplicate, in one batch and in the next', async () => {
    const table = await scene.table('same')
    const { outcomes } = await scene.drive('same', caseOptions(table), [
      [fact('a', 1), fact('a', 1, { id: 'twin', state: 'other' })],
      [fact('a', 1, { id: 'late twin', state: 'other' })],
    ])
    assert.deepEqual(await scene.rows(table), ['a 1 s1 a-v1'])
    assert.deepEqual(outcomes, { applied: 1, duplicate: 2 })
    assert.deepEqual(await scene.notes('same'), ['late twin duplicate', 'twin duplicate'])
    assert.deepEqual(await scene.markers('same'), ['a-v1 applied', 'late twin duplicate', 'twin duplicate'])
  })

  it('reports a conflict for the same version with other content where a digest column is declared', async () => {
    const table = await scene.table('digested')
    const options = caseOptions(table, { digest: 'content', columns: { state: 'state' } })
    await scene.drive('digested', options, [
      [fact('a', 1)],
      [fact('a', 1, { id: 'same content' })],
      [fact('a', 1, { id: 'other content', state: 'other' })],
    ])
    assert.deepEqual(await scene.rows(table), ['a 1 s1'])
    assert.deepEqual(await scene.notes('digested'), ['same content duplicate'])
    assert.deepEqual(await scene.held('digested'), ['other content quarantined version_conflict'])
  })

  it('sorts the facts of a batch: disorder inside a batch is no gap', async () => {
    const table = await scene.table('sorted')
    const facts = [fact('a', 3), fact('a', 1), fact('a', 2)]
    const { outcomes } = await scene.drive('sorted', caseOptions(table), [facts])
    assert.deepEqual(await scene.rows(table), ['a 3 s3 a-v3'])
    assert.deepEqual(outcomes, { applied: 3 })
  })

  it('accepts a skipped version, with a note', async () => {
    const table = await scene.table('accepted')
    const { outcomes, results } = await scene.drive('accepted', caseOptions(table), [
      [fact('a', 1)],
      [fact('a', 3)],
      [fact('b', 5)],
      [fact('a', 4), fact('a', 7), fact('a', 8)],
    ])
    assert.deepEqual(await scene.rows(table), ['a 8 s8 a-v8', 'b 5 s5 b-v5'])
    assert.deepEqual(outcomes, { applied: 6 })
    assert.deepEqual(results, { gap: 3 })
    assert.deepEqual(await scene.notes('accepted'), ['a-v3 gap', 'a-v7 gap', 'b-v5 gap'])
  })

  it('sees no gap where skips are allowed', async () => {
    const table = await scene.table('skipping')
    const { results } = await scene.drive('skipping', caseOptions(table, { gap: 'skips allowed' }), [
      [fact('a', 10), fact('b', 7)],
      [fact('a', 500), fact('b', 3)],
    ])
    assert.deepEqual(await scene.rows(table), ['a 500 s500 a-v500', 'b 7 s7 b-v7'])
    assert.deepEqual(results, { stale: 1 })
  })

  it('distinguishes the older one from its neighbours, for any keys of two parts', async () => {
    await scene.pool.query(
      'create table pairs (region integer, name text, version bigint, state text, primary key (region, name))',
    )
    const options: CaseOptions = {
      table: 'pairs',
      key: { region: m => m.caseId.split(':')[0], name: m => m.caseId.split(':')[1] },
      version: { version: 'version' },
      columns: { state: 'state' },
      gap: 'skips allowed',
    }
    const names = ['1:2', '12:null', '-1:{a,"b"}', '1:NULL', '1:\\', '2:a b']
    const { results } = await scene.drive('pairs', options, [
      names.map(name => fact(name, 5)),
      names.map((name, index) => fact(name, index === 3 ? 4 : 6)),
    ])
    assert.deepEqual(results, { stale: 1 })
    assert.deepEqual(await scene.notes('pairs'), ['1:NULL-v4 stale'])
    const { rows } = await scene.pool.query("select region || ':' || name as name, version::int from pairs")
    assert.deepEqual(
      new Map(rows.map(({ name, version }) => [name, version])),
      new Map(names.map((name, index) => [name, index === 3 ? 5 : 6])),
    )
  })

  it('keeps a deleted row as a tombstone that nothing older brings back, and lets a newer fact do so', async () => {
    const table = await scene.table('tombs')
    const gone = fact('a', 3, { deleted: true, state: null })
    await scene.drive('tombs', caseOptions(table), [[fact('a', 1)], [gone], [fact('a', 2)]])
    assert.deepEqual(await scene.rows(table), ['a 3 - a-v3 deleted'])
    await scene.drive('tombs', caseOptions(table), [[fact('a', 4)], [fact('a', 5)]])
    assert.deepEqual(await scene.rows(table), ['a 5 s5 a-v5'])
    assert.deepEqual(await scene.notes('tombs'), [
      'a-v2 stale',
      'a-v3 deleted',
      'a-v3 gap',
      'a-v4 resurrected',
    ])
  })

  it('notes deletes, returns and corrections that are folded into one batch', async () => {
    const table = await scene.table('folded')
    const facts = [
      fact('a', 1),
      fact('a', 2, { deleted: true, state: null }),
      fact('a', 3),
      fact('a', 4, { corrects: 1 }),
    ]
    const { outcomes } = await scene.drive('folded', caseOptions(table), [facts])
    assert.deepEqual(await scene.rows(table), ['a 4 s4 a-v4'])
    assert.deepEqual(outcomes, { applied: 4 })
    assert.deepEqual(await scene.notes('folded'), ['a-v2 deleted', 'a-v3 resurrected', 'a-v4 correction'])
  })

  it('takes a correction as a new fact with its own version', async () => {
    const table = await scene.table('corrected')
    await scene.drive('corrected', caseOptions(table), [
      [fact('a', 1), fact('a', 2)],
      [fact('a', 3, { corrects: 1, state: 'breach' })],
    ])
    assert.deepEqual(await scene.rows(table), ['a 3 breach a-v3'])
    assert.deepEqual(await scene.notes('corrected'), ['a-v3 correction'])
  })

  it('sets aside what carries no usable key or version, and applies the rest', async () => {
    const table = await scene.table('malformed')
    const { outcomes } = await scene.drive('malformed', caseOptions(table), [
      [
        fact('a', 1),
        { id: 'no version', caseId: 'a', version: 'second' },
        { id: 'huge', caseId: 'a', version: '99999999999999999999' },
        { id: 'before the first', caseId: 'b', version: -1 },
      ],
    ])
    assert.deepEqual(await scene.rows(table), ['a 1 s1 a-v1'])
    assert.equal(outcomes.quarantined, 3)
    assert.deepEqual(await scene.held('malformed'), [
      'before the first quarantined version_malformed',
      'huge quarantined version_malformed',
      'no version quarantined version_malformed',
    ])
  })
}
