import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type OncewardError, projection } from 'onceward'
import { skipWithout } from '../services/services.ts'
import { type CaseFact, type CaseOptions, caseOptions, fact, ProjectionScene } from './projection-scene.ts'

const problems = (changes: object, contract: object = {}) =>
  projection({ ...caseOptions('case_view'), ...changes } as CaseOptions)
    .problems({ order: 'key', ...contract } as never)
    .map(({ place, text }) => `${place}: ${text}`)

const wait = {
  policy: 'wait',
  deadlineMs: 1,
  atDeadline: 'accept',
  keyMax: 1,
  totalMax: 1,
  whenFull: 'park',
}

describe('a wrong projection is refused before anything starts', () => {
  const cases: readonly [string, object, RegExp, object?][] = [
    ['no version', { version: undefined }, /^version: is missing: .* which fact is newer/],
    ['two version columns', { version: { a: 'a', b: 'b' } }, /^version: must name one column/],
    ['no key', { key: {} }, /^key: must name its columns/],
    ['a key read from nothing', { key: { case_id: 5 } }, /^key\.case_id: must be a function/],
    ['no table', { table: '' }, /^table: must name a table/],
    ['a table that is a statement', { table: 'a"; drop table b; --' }, /^table: must name a table/],
    ['neither columns nor handle', { columns: undefined }, /^columns: give either columns or handle/],
    ['both', { handle: async () => {} }, /^columns: give either columns or handle/],
    ['a column twice', { columns: { version: 'v' } }, /^columns: column 'version' is declared twice/],
    ['no gap policy', { gap: undefined }, /^gap: is missing/],
    ['a misspelt gap policy', { gap: 'acept latest' }, /^gap: .*did you mean 'accept latest'\?/],
    [
      'a wait without its deadline',
      { gap: { ...wait, deadlineMs: undefined } },
      /^gap\.deadlineMs: is missing/,
    ],
    ['a wait without its caps', { gap: { ...wait, keyMax: undefined } }, /^gap\.keyMax: is missing/],
    [
      'a wait without its action',
      { gap: { ...wait, whenFull: undefined } },
      /^gap\.whenFull: must be one of/,
    ],
    [
      'a wait that repairs with nothing',
      { gap: { ...wait, atDeadline: 'repair' } },
      /^gap\.repair: is missing/,
    ],
    ['a wait with an unknown key', { gap: { ...wait, deadLineMs: 5 } }, /^gap\.deadLineMs: .*'deadlineMs'\?/],
    ['a repair without its function', { gap: { policy: 'repair' } }, /^gap\.fetch: must be a function/],
    ['fail fast without key order', { gap: 'fail fast' }, /^gap: .*needs order 'key'/, { order: 'none' }],
    ['a wait without markers', { gap: wait }, /^gap: 'wait' needs dedup 'marker'/, { dedup: 'version' }],
    ['a delete without its column', { delete: { when: () => true } }, /^delete\.column: must name a boolean/],
    [
      'a tombstone whose key is in the body it has not got',
      { version: { version: { record: 'offset' } }, delete: { column: 'deleted', when: 'tombstone' } },
      /^key\.case_id: must be \{ record: 'key' \}/,
    ],
    [
      'a repair of what is read from the record',
      { version: { version: { record: 'offset' } }, gap: { policy: 'repair', fetch: async () => null } },
      /^gap: 'repair' returns a message, not a record/,
    ],
    [
      'an unknown record field',
      { key: { case_id: { record: 'value' } } },
      /^key\.case_id: must be a function/,
    ],
    ['a digest beside a handler', { digest: 'd', columns: undefined, handle: async () => {} }, /^digest: /],
    ['an unknown key', { colums: {} }, /^colums: is not a known key; did you mean 'columns'\?/],
  ]
  for (const [name, changes, expected, contract] of cases) {
    it(name, () => {
      const found = problems(changes, contract)
      assert.equal(found.length, 1, found.join('\n'))
      assert.match(found[0]!, expected)
    })
  }

  it('and a right one is not', () => assert.deepEqual(problems({ gap: wait }), []))

  it('dedup by version needs a projection, and no business key', () => {
    const contract = {
      dedup: 'version',
      identity: { id: (m: CaseFact) => m.id, businessKey: (m: CaseFact) => m.id },
    }
    const scene = ProjectionScene.prototype
    assert.throws(
      () => scene.contract('x', caseOptions('y'), contract as never),
      (error: OncewardError) => /identity\.businessKey: needs dedup 'marker'/.test(error.message),
    )
    assert.throws(
      () => scene.contract('x', caseOptions('y'), { dedup: 'version', effect: {}, handle() {} } as never),
      (error: OncewardError) => /dedup: 'version' needs an effect/.test(error.message),
    )
  })
})

describe(
  'a projection that does not fit its table is refused at start',
  await skipWithout('postgres'),
  () => {
    let scene: ProjectionScene
    before(async () => {
      scene = await ProjectionScene.open()
      await scene.table('fits')
      await scene.pool.query('create schema reporting')
      await scene.pool.query(`create table reporting."Case View" (like fits including all)`)
      await scene.pool.query('create table keyless (like fits)')
      await scene.pool.query('create table partly (like fits)')
      await scene.pool.query('create unique index on partly (case_id) where version > 5')
      await scene.pool.query('create table strict (like fits including all)')
      await scene.pool.query('alter table strict add region text not null')
      await scene.pool.query(
        'create table odd (case_id numeric primary key, version text, state text, event_id text, deleted text)',
      )
    })
    after(() => scene.close())

    const refused = async (changes: object, ...expected: readonly RegExp[]) => {
      await assert.rejects(
        scene.drive('refused', { ...caseOptions('fits'), ...changes } as CaseOptions, []),
        (error: OncewardError) => {
          assert.equal(error.code, 'configuration')
          for (const one of expected) assert.match(error.message, one)
          assert.match(error.message, /Nothing was started/)
          return true
        },
      )
    }

    it('no such table', () =>
      refused({ table: 'nowhere' }, /effect\.apply\.table: there is no table nowhere/))
    it('a view', async () => {
      await scene.pool.query('create view seen as select * from fits')
      await refused({ table: 'seen' }, /effect\.apply\.table: there is no table seen/)
    })
    it('no such column', () =>
      refused(
        { columns: { stat: 'state' } },
        /effect\.apply\.columns\.stat: fits has no column stat; did you mean state\?/,
      ))
    it('no unique index on the key', () =>
      refused({ table: 'keyless' }, /effect\.apply\.key: keyless has no unique index on \(case_id\)/))
    it('a unique index over part of the rows', () => refused({ table: 'partly' }, /has no unique index/))
    it('types that cannot be a key, a version or a flag', () =>
      refused(
        { table: 'odd' },
        /key\.case_id: column case_id is numeric/,
        /version\.version: column version is text; a version needs bigint/,
        /delete\.column: column deleted is text; it must be boolean/,
      ))
    it('a missing delete column', () =>
      refused({ delete: { column: 'gone', when: () => false } }, /delete\.column: fits has no column gone/))
    it('a column that must be written and is not declared', () =>
      refused({ table: 'strict' }, /columns: column region may not be null and has no default/))
    it('a column that may not be null, where a tombstone has nothing for it', () =>
      refused(
        {
          table: 'strict',
          key: { case_id: { record: 'key' } },
          version: { version: { record: 'offset' } },
          columns: { state: 'state', region: 'region' },
          delete: { column: 'deleted', when: 'tombstone' },
        },
        /columns\.region: column region may not be null, and a tombstone has no value/,
      ))
    it('a rebuild table that is not there', () =>
      refused({ rebuildTable: 'nowhere' }, /effect\.apply\.rebuildTable: there is no table nowhere/))

    it('names with capitals, spaces and schemas are taken as they are', async () => {
      await scene.drive('quoted', caseOptions('reporting.Case View'), [[fact('a', 1)], [fact('a', 2)]])
      assert.deepEqual(await scene.rows('reporting."Case View"'), ['a 2 s2 a-v2'])
    })
  },
)

describe('columns of every kind', await skipWithout('postgres'), () => {
  it('arrive as they are, through insert, update and a key of two parts', async () => {
    const scene = await ProjectionScene.open()
    await scene.pool.query(`create type mood as enum ('calm', 'angry');
      create table kinds (region integer, case_uuid uuid, version integer not null, amount numeric(10, 2), at timestamptz, day date,
        tags text[], grid integer[], doc jsonb, list json, open boolean, mood mood, code varchar(3), bytes bytea, primary key (region, case_uuid))`)
    const options = {
      table: 'kinds',
      key: { region: () => 7, case_uuid: () => 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11' },
      version: { version: 'version' },
      columns: {
        amount: () => '12.50',
        at: () => new Date('2026-01-02T03:04:05.678Z'),
        day: () => '2026-02-03',
        tags: () => ['a,b', 'say "hi"', 'back\\slash', null, ''],
        grid: () => [
          [1, 2],
          [3, 4],
        ],
        doc: (m: CaseFact) => ({ state: m.state, deep: ['"', "'"] }),
        list: () => ['x', 1, null],
        open: () => true,
        mood: () => 'angry',
        code: () => 'abc',
        bytes: () => Buffer.from([0, 1, 255]),
      },
      gap: 'accept latest' as const,
    }
    await scene.drive('kinds', options, [[fact('a', 1)], [fact('a', 2)]])
    const { rows } = await scene.pool.query(
      `select region, case_uuid, version, amount, at, day::text, tags, grid, doc, list, open, mood, code, bytes from kinds`,
    )
    assert.deepEqual(rows, [
      {
        region: 7,
        case_uuid: 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
        version: 2,
        amount: '12.50',
        at: new Date('2026-01-02T03:04:05.678Z'),
        day: '2026-02-03',
        tags: ['a,b', 'say "hi"', 'back\\slash', null, ''],
        grid: [
          [1, 2],
          [3, 4],
        ],
        doc: { state: 's2', deep: ['"', "'"] },
        list: ['x', 1, null],
        open: true,
        mood: 'angry',
        code: 'abc',
        bytes: Buffer.from([0, 1, 255]),
      },
    ])
    const { outcomes } = await scene.drive(
      'kinds',
      { ...options, columns: { ...options.columns, code: () => 'too long' } },
      [[fact('a', 3)]],
    )
    assert.equal(outcomes.applied, undefined)
    await scene.close()
  })
})

describe('values a column cannot hold', await skipWithout('postgres'), () => {
  const hostile: readonly [string, unknown][] = [
    ['a list', ['mine', 'yours']],
    ['an empty list', []],
    ['text with a NUL', 'a\0b'],
    ['broken Unicode', 'a\ud800b'],
  ]
  for (const gap of ['accept latest', 'skips allowed', 'rebuild'] as const) {
    for (const [what, value] of hostile) {
      it(`${what} is quarantined and written nowhere, under '${gap}'`, async () => {
        const scene = await ProjectionScene.open()
        await scene.pool.query(
          'create table open_view (case_id text unique, version bigint not null, state text)',
        )
        const options: CaseOptions = {
          table: 'open_view',
          key: { case_id: 'caseId' },
          version: { version: 'version' },
          columns: { state: 'state' },
          gap,
        }
        const bad = { state: value as string }
        const { outcomes } = await scene.drive('open_view', options, [
          [fact('a', 1), fact('b', 1)],
          [fact('a', 2, bad), fact('b', 2, bad)],
          [fact('c', 1, bad), fact('d', 1)],
        ])
        assert.deepEqual(outcomes, { applied: 3, quarantined: 3 })
        const { rows } = await scene.pool.query('select case_id, version, state from open_view order by 1')
        assert.deepEqual(
          rows.map(row => Object.values(row).join(' ')),
          ['a 1 s1', 'b 1 s1', 'd 1 s1'],
        )
        await scene.close()
      })
    }
  }
})

describe('the handler form', await skipWithout('postgres'), () => {
  it('is called once per key whose version moved, with the facts that moved it, in order', async () => {
    const scene = await ProjectionScene.open()
    await scene.pool.query('create table moves (case_id text primary key, version bigint not null)')
    await scene.pool.query(
      'create table history (case_id text, version bigint, state text, primary key (case_id, version))',
    )
    const calls: string[] = []
    const options: CaseOptions = {
      table: 'moves',
      key: { case_id: 'caseId' },
      version: { version: 'version' },
      gap: 'accept latest',
      async handle({ key, facts, tx }) {
        calls.push(`${key.case_id} ${facts.map(one => one.version)}`)
        for (const { version, message } of facts)
          await tx.query('insert into history values ($1, $2, $3)', [key.case_id, version, message.state])
      },
    }
    await scene.drive('handled', options, [
      [fact('a', 2), fact('a', 1), fact('b', 1)],
      [fact('a', 1, { id: 'again' }), fact('b', 3)],
    ])
    assert.deepEqual(calls, ['a 1,2', 'b 1', 'b 3'])
    const { rows } = await scene.pool.query(
      `select case_id || version || state as row from history order by 1`,
    )
    assert.deepEqual(
      rows.map(({ row }) => row),
      ['a1s1', 'a2s2', 'b1s1', 'b3s3'],
    )
    await scene.close()
  })
})
