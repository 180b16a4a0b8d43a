import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type ProjectionResult, projection } from 'onceward'
import { postgresQueue } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { skipWithout } from '../services/services.ts'
import { type CaseFact, type CaseOptions, caseOptions, fact, ProjectionScene } from './projection-scene.ts'

const effect = { publish: { moved: { broker: 'kafka', topic: 'moves' } } } as const

const line = (id: string, { from, version, newest, notes }: ProjectionResult) =>
  [id, `${from}>${version}`, ...(newest ? ['newest'] : []), ...notes].join(' ')

for (const server of ['as it is', 'before 18'] as const)
  describe(`after a projection, server ${server}`, await skipWithout('postgres'), () => {
    let scene: ProjectionScene
    before(async () => {
      scene = await ProjectionScene.open(server)
      await scene.pool.query(
        'create table move_seen (table_name text, line text, primary key (table_name, line))',
      )
    })
    after(() => scene.close())

    const following = (table: string, changes: Partial<CaseOptions> = {}) =>
      caseOptions(table, {
        after: async ({ message, result, tx, effects }) => {
          const text = line(message.id, result)
          await tx.query('insert into move_seen values ($1, $2)', [table, text])
          effects.publish('moved', { key: result.key.case_id!, body: text })
        },
        ...changes,
      })
    const seen = async (table: string) => {
      const { rows } = await scene.pool.query('select line from move_seen where table_name = $1 order by 1', [
        table,
      ])
      return rows.map(row => row.line)
    }
    const published = async () => {
      const { rows } = await scene.pool.query(
        `with gone as (delete from onceward.outbox returning id, body) select convert_from(body, 'utf8')::json #>> '{}' as line from gone order by id`,
      )
      return rows.map(row => row.line)
    }
    const drive = async (table: string, options: CaseOptions, ...batches: CaseFact[][]) => {
      const apply = projection(options)
      return scene.drive(table, options, batches, { effect: { ...effect, apply } })
    }

    it('it is called for every applied fact, with a note or without, and not for a stale or repeated one', async () => {
      const table = await scene.table('followed')
      const { outcomes } = await drive(
        table,
        following(table),
        [fact('a', 1), fact('a', 2), fact('b', 1)],
        [fact('a', 5), fact('a', 5, { id: 'again' }), fact('b', 1, { id: 'late' })],
        [fact('a', 3), fact('a', 6, { deleted: true }), fact('a', 7)],
      )
      assert.deepEqual(outcomes, { applied: 6, duplicate: 2, stale: 1 })
      const lines = [
        'a-v1 null>1',
        'a-v2 1>2 newest',
        'a-v5 2>5 newest gap',
        'a-v6 5>6 deleted',
        'a-v7 6>7 newest resurrected',
        'b-v1 null>1 newest',
      ]
      assert.deepEqual(await seen(table), lines)
      assert.deepEqual((await published()).sort(), lines)
    })

    it('where versions may be skipped, the version before is the true one', async () => {
      const table = await scene.table('skipping')
      await drive(
        table,
        following(table, { gap: 'skips allowed' }),
        [fact('a', 3), fact('a', 10), fact('b', 7)],
        [fact('a', 20), fact('b', 5), fact('b', 9)],
      )
      const lines = [
        'a-v10 3>10 newest',
        'a-v20 10>20 newest',
        'a-v3 null>3',
        'b-v7 null>7 newest',
        'b-v9 7>9 newest',
      ]
      assert.deepEqual(await seen(table), lines)
      assert.deepEqual((await published()).sort(), lines)
    })

    it('it is called for a fact applied from the answer of the source of truth', async () => {
      const table = await scene.table('repaired')
      const gap = { policy: 'repair', fetch: async () => fact('a', 5, { id: 'truth' }) } as const
      await drive(table, following(table, { gap }), [fact('a', 1)], [fact('a', 4), fact('a', 6)])
      assert.deepEqual(await seen(table), ['a-v1 null>1 newest', 'a-v4 1>4 repaired', 'a-v6 5>6 newest'])
      await published()
    })

    it('one that fails leaves its row unchanged, and other rows move', async () => {
      const table = await scene.table('failing')
      const options = following(table, {
        after: async ({ message, effects }) => {
          if (message.id === 'b-v1') throw new Error('not this one')
          effects.publish('moved', { body: message.id })
        },
      })
      const { outcomes } = await drive(table, options, [fact('a', 1), fact('b', 1), fact('c', 1)])
      assert.equal(outcomes.applied, 2)
      assert.deepEqual(await scene.rows(table), ['a 1 s1 a-v1', 'c 1 s1 c-v1'])
      assert.deepEqual((await published()).sort(), ['a-v1', 'c-v1'])
    })

    if (server === 'as it is') {
      it('it is called once for a fact that waited, when a worker applies it', async t => {
        const table = await scene.table('waited')
        const gap = {
          policy: 'wait',
          deadlineMs: 600_000,
          atDeadline: 'accept',
          keyMax: 10,
          totalMax: 100,
          whenFull: 'park',
        } as const
        const options = following(table, { gap, after: seenAfter(table) })
        const running = await scene.run('waited', options)
        t.after(() => running.drain())
        await scene.publish('waited', fact('a', 1), fact('a', 3))
        await until('it waits', async () => (await scene.held('waited')).length === 1)
        assert.deepEqual(await seen(table), ['a-v1 null>1 newest'])
        await scene.publish('waited', fact('a', 2))
        await until('all moved', async () => (await scene.rows(table))[0]?.startsWith('a 3') === true)
        assert.deepEqual(
          (await seen(table)).map(text => text.split(' ')[0]),
          ['a-v1', 'a-v2', 'a-v3'],
        )
      })

      it('stored: workers call it for each message they apply, once', async t => {
        const table = await scene.table('stored')
        const options = following(table, { after: seenAfter(table) })
        const source = postgresQueue('stored', { keyOrder: true })
        const running = await scene.run('stored', options, {
          inbox: { mode: 'stored' },
          order: 'key',
          source,
        })
        t.after(() => running.drain())
        const facts = ['a', 'b', 'c'].flatMap(id => [1, 2, 3].map(version => fact(id, version)))
        await scene.publish('stored', ...facts)
        await until('all are applied', async () => (await seen(table)).length === 9)
        assert.deepEqual(
          (await scene.markers('stored')).filter(marker => !marker.endsWith(' applied')),
          [],
        )
      })

      it('without markers, the version is the marker: it is not called for a redelivery', async () => {
        const table = await scene.table('by_version')
        const options = following(table, { after: seenAfter(table) })
        const again = [fact('a', 1), fact('a', 2)]
        const { outcomes } = await scene.drive('by_version', options, [again, again], { dedup: 'version' })
        assert.deepEqual(outcomes, { applied: 2, stale: 1, duplicate: 1 })
        assert.equal((await seen(table)).length, 2)
      })
    }

    const seenAfter =
      (table: string): NonNullable<CaseOptions['after']> =>
      async ({ message, result, tx }) => {
        await tx.query('insert into move_seen values ($1, $2)', [table, line(message.id, result)])
      }
  })
