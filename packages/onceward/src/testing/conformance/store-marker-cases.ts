import assert from 'node:assert/strict'
import type { MarkerAnswer, NewMarker } from '../../ports/markers.ts'
import { until } from '../until.ts'
import type { ConformanceCase } from './conformance-case.ts'
import type { StoreFeature } from './store.ts'
import { claimOf, conclusionOf, digest, factsOf, gate, type StoreBench } from './store-bench.ts'

type Cases = readonly ConformanceCase<StoreBench<unknown>, StoreFeature>[]

const first: MarkerAnswer = { kind: 'first' }
const seen = (sameDigest: boolean): MarkerAnswer => ({ kind: 'seen', status: 'applied', sameDigest })

/** Which transaction is first with an id, and how the others learn it. */
export const storeMarkerCases: Cases = [
  {
    name: 'the first insert of an id is first, later ones have seen it, with the same or with other content',
    async run(bench) {
      assert.deepEqual(await bench.transaction(s => s.insertMarkers([claimOf('a')])), [first])
      assert.deepEqual(await bench.transaction(s => s.insertMarkers([claimOf('a')])), [seen(true)])
      assert.deepEqual(await bench.transaction(s => s.insertMarkers([claimOf('a', 'other')])), [seen(false)])
      assert.equal(await bench.marker('a'), 'applied')
    },
  },
  {
    name: 'a marker with the former digest of a content matches that content',
    async run(bench) {
      await bench.transaction(s =>
        s.insertMarkers([claimOf('a', 'as older code saw it'), claimOf('b', 'other')]),
      )
      const again = ['a', 'b'].map(id => ({
        ...claimOf(id, 'as we see it'),
        formerDigest: digest('as older code saw it'),
      }))
      assert.deepEqual(await bench.transaction(s => s.insertMarkers(again)), [seen(true), seen(false)])
    },
  },
  {
    name: 'answers are in the order of the messages of the batch',
    async run(bench) {
      await bench.transaction(s => s.insertMarkers([claimOf('b'), claimOf('d')]))
      const answers = await bench.transaction(s =>
        s.insertMarkers([claimOf('e'), claimOf('d'), claimOf('c'), claimOf('b', 'other'), claimOf('a')]),
      )
      assert.deepEqual(answers, [first, seen(true), first, seen(false), first])
    },
  },
  {
    name: 'ids with any characters are stored unchanged, with their positions',
    async run(bench) {
      const plain = ['NULL', 'null', 'a"b', 'a\\\\b', '{a,b}', 'ä €', "o'clock", 'a b']
      for (const ids of [plain, ['a\u001fb', ...plain.map(id => `${id}2`)]]) {
        const positions = {
          '': () => null,
          some: (n: number) => (n % 2 === 0 ? null : `p,"${n}`),
          odd: () => 'p\u001f0',
        }
        for (const [name, position] of Object.entries(positions)) {
          const claims: readonly NewMarker[] = ids.map((id, n) => ({
            ...claimOf(`${id}${name}`),
            position: position(n),
          }))
          const answers = async () =>
            new Set((await bench.transaction(s => s.insertMarkers(claims))).map(({ kind }) => kind))
          assert.deepEqual([...(await answers())], ['first'])
          assert.deepEqual([...(await answers())], ['seen'])
        }
      }
      for (const id of plain) assert.equal(await bench.marker(id), 'applied')
    },
  },
  {
    name: 'consumers and generations do not see each other’s markers',
    async run(bench) {
      const { store } = bench.under
      await bench.transaction(s => s.insertMarkers([claimOf('a')]))
      for (const facts of [factsOf(`${bench.name}_other`), factsOf(bench.name, { generation: 2 })]) {
        const enrolment = await store.enroll(facts)
        assert.deepEqual(await store.transaction(enrolment, s => s.insertMarkers([claimOf('a')])), [first])
      }
    },
  },
  {
    name: 'a consumer that enrols again finds its markers',
    async run(bench) {
      await bench.transaction(s => s.insertMarkers([claimOf('a')]))
      await bench.under.store.closeRun(bench.enrolment)
      const again = await bench.under.second.enroll(bench.enrolment.facts)
      assert.deepEqual(await bench.under.second.transaction(again, s => s.insertMarkers([claimOf('a')])), [
        seen(true),
      ])
    },
  },
  {
    name: 'of two concurrent inserts of one id one is first; the other waits for its commit and finds it',
    async run(bench) {
      const { held, other } = await raceForOneId(bench)
      held.open()
      assert.deepEqual(await other, [seen(true)])
    },
  },
  {
    name: 'when the first holder of an id rolls back, the one that waited is first',
    async run(bench) {
      const { held, other, holder } = await raceForOneId(bench, new Error('rolled back on purpose'))
      held.open()
      assert.deepEqual(await other, [first])
      await assert.rejects(holder, /on purpose/)
      assert.equal(await bench.marker('a'), 'applied')
    },
  },
  {
    name: 'sorted, overlapping batches from two sessions never deadlock',
    needs: ['concurrent transactions'],
    async run(bench) {
      const { store, second } = bench.under
      for (let round = 0; round < 40; round++) {
        const ids = Array.from({ length: 30 }, (_, index) => `${round}-${(index * 7) % 30}`)
        const claims = ids.map(id => claimOf(id))
        const keys = ids.map(id => ({ key: `k${id}`, digest: null, id }))
        const batches = [claims, [...claims].reverse()].map((batch, index) =>
          bench.transaction(
            async session => {
              const answers = await session.insertMarkers(batch)
              const fresh = keys.filter(
                key => answers[batch.findIndex(claim => claim.id === key.id)]!.kind === 'first',
              )
              await session.businessKeys!.insert(index === 0 ? fresh : fresh.reverse())
              return answers
            },
            index === 0 ? store : second,
          ),
        )
        const answers = (await Promise.all(batches)).flat()
        assert.equal(answers.filter(answer => answer.kind === 'first').length, 30, `round ${round}`)
      }
    },
  },
  {
    name: 'ids with quotes, backslashes, Unicode and 200 bytes are stored unchanged',
    async run(bench) {
      const ids = [
        `'; drop table x; --`,
        '"\\\'\\',
        '{a,"b"}',
        'NULL',
        'null',
        '{}',
        'Ünïcödé🚚',
        'é',
        'e\u0301',
        'A',
        'a',
        'x'.repeat(200),
        '%_$1',
        '\u2028',
      ]
      assert.deepEqual(
        await bench.transaction(s => s.insertMarkers(ids.map(id => claimOf(id)))),
        ids.map(() => first),
      )
      assert.deepEqual(
        await bench.transaction(s => s.insertMarkers(ids.map(id => claimOf(id)))),
        ids.map(() => seen(true)),
      )
      for (const id of ids) assert.equal(await bench.marker(id), 'applied', id)
    },
  },
  {
    name: 'a business key is inserted once; the same content under it is known, other content is not',
    needs: ['business keys'],
    async run(bench) {
      const claim = (id: string, content: string | null) =>
        bench.transaction(async session => {
          await session.insertMarkers([claimOf(id)])
          return session.businessKeys!.insert([
            { key: 'k', digest: content === null ? null : digest(content), id },
          ])
        })
      assert.deepEqual(await claim('a', 'pay 5'), [{ kind: 'first' }])
      const byA = { kind: 'seen', byId: 'a', status: 'applied', waiting: 0 }
      assert.deepEqual(await claim('b', 'pay 5'), [{ ...byA, sameDigest: true }])
      assert.deepEqual(await claim('c', 'pay 6'), [{ ...byA, sameDigest: false }])
      assert.deepEqual(await claim('d', null), [{ ...byA, sameDigest: true }])
      assert.equal(await bench.under.businessKey!(bench.name, 'k'), 'a')
    },
  },
  {
    name: 'the holder of a business key is reported with its state, and how many wait for the key',
    needs: ['business keys'],
    async run(bench) {
      const parked = conclusionOf('a', 'parked')
      await bench.transaction(async session => {
        await session.insertMarkers([claimOf('a')])
        await session.businessKeys!.insert([{ key: 'k', digest: null, id: 'a' }])
        await session.conclude([{ ...parked, held: { ...parked.held!, businessKey: 'k' } }])
      })
      const behind = (id: string) =>
        bench.transaction(async session => {
          await session.insertMarkers([claimOf(id)])
          const answers = await session.businessKeys!.insert([{ key: 'k', digest: null, id }])
          const { held, ...waits } = conclusionOf(id, 'parked')
          await session.conclude([{ ...waits, held: { ...held!, businessKey: 'k', keyless: true } }])
          return answers
        })
      const byA = { kind: 'seen', byId: 'a', status: 'parked', sameDigest: true }
      assert.deepEqual(await behind('b'), [{ ...byA, waiting: 0 }])
      assert.deepEqual(await behind('c'), [{ ...byA, waiting: 1 }])
      assert.equal(await bench.under.businessKey!(bench.name, 'k'), 'a')
    },
  },
  {
    name: 'a key is blocked while a parked message holds it',
    needs: ['key order'],
    async run(bench) {
      const many = ['k', ...Array.from({ length: 40 }, (_, n) => `l${n}`)]
      const blocked = async () => {
        const [of2, of41] = await bench.transaction(async s => [
          await s.keyOrder!.blockedKeys(['k', 'l']),
          await s.keyOrder!.blockedKeys(many),
        ])
        assert.deepEqual(of41, of2, 'however many are asked for')
        return of2
      }
      const atWork = (keys: readonly string[]) =>
        bench.transaction(async s =>
          s.held === undefined ? null : [...(await s.held.keysAtWork(keys)).keys()],
        )
      assert.deepEqual(await blocked(), new Map())
      assert.deepEqual((await atWork(many)) ?? [], [])
      assert.equal(await bench.transaction(s => s.parkedTotal()), 0)
      await bench.transaction(async session => {
        await session.insertMarkers([claimOf('a')])
        const parked = conclusionOf('a', 'parked')
        await session.conclude([{ ...parked, held: { ...parked.held!, orderKey: 'k' } }])
      })
      assert.deepEqual(await blocked(), new Map([['k', { released: false, waiting: 0 }]]))
      assert.deepEqual(await atWork(many), await atWork(['k']))
      assert.equal(await bench.transaction(s => s.parkedTotal()), 1)
      await bench.transaction(async session => {
        await session.insertMarkers([claimOf('b')])
        const parked = conclusionOf('b', 'parked')
        await session.conclude([
          { ...parked, held: { ...parked.held!, orderKey: 'k', code: 'behind_parked' } },
        ])
      })
      assert.deepEqual(await blocked(), new Map([['k', { released: false, waiting: 1 }]]))
    },
  },
]

/** One transaction has inserted 'a' and is held open; another inserts it too. */
async function raceForOneId(bench: StoreBench<unknown>, failure?: Error) {
  const { under } = bench
  const held = gate()
  const claimed = gate()
  let over = false
  const holder = bench.transaction(async session => {
    assert.deepEqual(await session.insertMarkers([claimOf('a')]), [first])
    claimed.open()
    await held.opened
    over = true
    if (failure !== undefined) throw failure
  })
  holder.catch(() => {})
  await claimed.opened
  const other = bench.transaction(async session => {
    const answers = await session.insertMarkers([claimOf('a')])
    assert.ok(over, 'the second claim was answered while the first was undecided')
    return answers
  }, under.second)
  other.catch(() => {})
  if (under.waiting !== undefined)
    await until('the second claim waits', async () => (await under.waiting!()) > 0)
  return { held, other, holder }
}
