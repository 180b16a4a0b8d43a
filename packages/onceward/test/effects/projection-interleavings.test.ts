import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import { ConsumerProcess, realEnvironment } from 'onceward'
import { MemoryQueue } from 'onceward/memory'
import { createPostgresStore, type PostgresStore } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { skipWithout } from '../services/services.ts'
import { type CaseFact, type CaseOptions, caseOptions, fact, ProjectionScene } from './projection-scene.ts'

/** What happens to a transaction: nothing, undone at its end, or committed and the answer lost. */
type Accident = 'none' | 'undone' | 'unseen'

interface Story {
  readonly facts: readonly CaseFact[]
  /** Places in `facts`, as they are delivered. */
  readonly deliveries: readonly number[]
  /** Of each delivery: the same id again, or the same fact under a new one. */
  readonly renamed: readonly boolean[]
  readonly cuts: readonly number[]
  readonly accidents: readonly Accident[]
}

const lives = fc.array(fc.record({ length: fc.integer({ min: 1, max: 6 }), deletes: fc.nat(8) }), {
  minLength: 1,
  maxLength: 4,
})

const stories: fc.Arbitrary<Story> = lives.chain(given => {
  const facts = given.flatMap(({ length, deletes }, key) =>
    Array.from({ length }, (_, n) =>
      fact(`k${key}`, n + 1, n + 1 === deletes ? { deleted: true, state: null } : {}),
    ),
  )
  const places = facts.map((_, place) => place)
  return fc
    .array(fc.constantFrom(...places), { maxLength: 12 })
    .chain(again =>
      fc.shuffledSubarray([...places, ...again.map(place => place + facts.length)], {
        minLength: places.length + again.length,
      }),
    )
    .chain(deliveries =>
      fc.record({
        facts: fc.constant(facts),
        deliveries: fc.constant(deliveries.map(place => place % facts.length)),
        renamed: fc.array(fc.boolean(), { minLength: deliveries.length, maxLength: deliveries.length }),
        cuts: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 6 }),
        accidents: fc.array(fc.constantFrom<Accident>('none', 'undone', 'unseen'), { maxLength: 6 }),
      }),
    )
})

describe('any interleaving of a projection', await skipWithout('postgres'), () => {
  let scene: ProjectionScene
  let runs = 0
  before(async () => {
    scene = await ProjectionScene.open()
  })
  after(() => scene.close())

  async function live(
    name: string,
    options: CaseOptions,
    batches: readonly (readonly CaseFact[])[],
    changes: object,
    accidents: readonly Accident[] = [],
    mode: 'live' | 'rebuild' = 'live',
  ): Promise<void> {
    const queue = new MemoryQueue()
    const consumer = scene.contract(name, options, {
      order: 'none',
      batch: { sizeMax: 6, inFlightMax: 2 },
      ...changes,
    })
    const store = accidental(createPostgresStore({ pool: scene.pool }), [...accidents])
    const one = new ConsumerProcess({
      consumer,
      source: queue,
      store,
      env: realEnvironment(),
      instance: 'unit',
      mode,
    })
    await one.start()
    for (const batch of batches) {
      queue.publish(...batch.map(body => ({ body: JSON.stringify(body), key: body.caseId })))
      await until('there is room', () => queue.unsettled < 8)
    }
    await until('all is settled', () => queue.unsettled === 0)
    await one.drain()
  }

  const bytesOf = async (table: string) =>
    (await scene.pool.query(`select t::text as row from ${table} t order by case_id`)).rows.map(
      ({ row }) => row,
    )

  const columns = { state: 'state' }

  for (const dedup of ['marker', 'version'] as const) {
    it(`ends in the rows of one clean pass, and of a rebuild, with dedup '${dedup}'`, async () => {
      await fc.assert(
        fc.asyncProperty(stories, async story => {
          const run = `${dedup}_${++runs}`
          const [clean, table, rebuilt] = ['clean', 'live', 'rebuilt'].map(kind => `${kind}_${run}`) as [
            string,
            string,
            string,
          ]
          for (const one of [clean, table, rebuilt]) await scene.table(one)
          const options = caseOptions(table, { columns, rebuildTable: rebuilt, digest: 'content' })
          await live(`clean_${run}`, { ...options, table: clean }, [story.facts], { dedup })
          await live(`live_${run}`, options, batchesOf(story), { dedup }, story.accidents)
          await live(
            `live_${run}`,
            options,
            [[...story.facts].reverse()],
            { dedup, generation: 2 },
            [],
            'rebuild',
          )
          const expected = await bytesOf(clean)
          assert.deepEqual(await bytesOf(table), expected)
          assert.deepEqual(await bytesOf(rebuilt), expected)
          assert.deepEqual(await scene.held(`live_${run}`), [])
        }),
        { numRuns: 12 },
      )
    })
  }

  it('applies each version once, and in order, where gaps wait', async () => {
    await fc.assert(
      fc.asyncProperty(stories, async story => {
        const name = `waiting_${++runs}`
        await scene.pool.query(`create table ${name} (case_id text primary key, version bigint not null);
          create table ${name}_moves (place bigserial, case_id text, version bigint)`)
        const options: CaseOptions = {
          table: name,
          key: { case_id: 'caseId' },
          version: { version: 'version' },
          gap: {
            policy: 'wait',
            deadlineMs: 600_000,
            atDeadline: 'park',
            keyMax: 100,
            totalMax: 100,
            whenFull: 'park',
          },
          async handle({ key, facts, tx }) {
            for (const { version } of facts)
              await tx.query(`insert into ${name}_moves (case_id, version) values ($1, $2)`, [
                key.case_id,
                version,
              ])
          },
        }
        const running = await scene.run(name, options, { batch: { sizeMax: 6, inFlightMax: 2 } })
        for (const batch of batchesOf(story)) await scene.publish(name, ...batch)
        const moves = async () =>
          (
            await scene.pool.query(
              `select case_id || '-v' || version as id from ${name}_moves order by case_id, place`,
            )
          ).rows.map(({ id }) => id)
        const expected = story.facts.map(({ id }) => id)
        await until('every version moved', async () => (await moves()).length >= expected.length)
        await until('nothing waits', async () => (await scene.held(name)).length === 0)
        await running.drain()
        assert.deepEqual(await moves(), expected)
      }),
      { numRuns: 8 },
    )
  })
})

function batchesOf({ facts, deliveries, renamed, cuts }: Story): CaseFact[][] {
  const delivered = deliveries.map((place, n) => {
    const one = facts[place]!
    return renamed[n] ? { ...one, id: `${one.id} renamed ${n}` } : one
  })
  const batches: CaseFact[][] = []
  for (let from = 0, n = 0; from < delivered.length; n++) {
    const size = cuts[n % cuts.length]!
    batches.push(delivered.slice(from, from + size))
    from += size
  }
  return batches
}

/** Injects these accidents into the next transactions. */
function accidental(store: PostgresStore, accidents: Accident[]): PostgresStore {
  const trouble = () => Object.assign(new Error('serialization failure'), { code: '40001' })
  return {
    ...store,
    async transaction(enrolment, work) {
      const accident = accidents.shift() ?? 'none'
      const result = await store.transaction(enrolment, async session => {
        const done = await work(session)
        if (accident === 'undone') throw trouble()
        return done
      })
      if (accident === 'unseen') throw trouble()
      return result
    },
  }
}
