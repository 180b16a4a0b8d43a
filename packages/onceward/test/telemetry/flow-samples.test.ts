import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type ConsumerContract, defineConsumer, park, runConsumer } from 'onceward'
import { createPool, createQueue, hint, migrate, postgresQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { writeSample } from '../../src/drivers/postgres/run/write-sample.ts'
import { realEnvironment } from '../../src/runtime/real-environment.ts'
import { FlowSampler } from '../../src/runtime/sample-flow.ts'
import { readRates } from '../../src/telemetry/consumer-detail.ts'
import { createDatabase, skipWithout } from '../services/services.ts'

const contract: ConsumerContract<{ id: string; does?: string }> = {
  name: 'sampled',
  owner: 'tests',
  risk: 'projection',
  source: postgresQueue('sampled'),
  identity: { id: message => message.id },
  handle: ({ message }) => (message.does === 'park' ? park('a person decides') : undefined),
}
const last = <T>(values: readonly T[]) => values.at(-1)

describe('samples of what a consumer does', await skipWithout('postgres'), () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  let pool: ReturnType<typeof createPool>
  before(async () => {
    database = await createDatabase()
    pool = createPool(database.url, { max: 3 })
    await migrate(pool)
  })
  after(async () => {
    await pool.end()
    await database.drop()
  })

  const enrolled = async (name: string) => {
    const { rows } = await pool.query(
      `with c as (insert into onceward.consumer (name, generation, owner, risk) values ($1, 1, 'tests', 'money')
         on conflict (name, generation) do update set owner = excluded.owner returning id)
       insert into onceward.run (consumer_id, instance, handler_version, mode) select id, 'a test', '1', 'live' from c
       returning consumer_id as "consumerId", id as "runId"`,
      [name],
    )
    return rows[0] as { consumerId: number; runId: number }
  }
  const of = async (name: string) => {
    const { consumers, lag } = await readRates(pool)
    const behind = lag.filter(({ consumer }) => consumer === name)
    return { ...consumers.find(({ consumer }) => consumer === name)!, behind }
  }
  const counts = (applied: number) => ({ applied, duplicates: 1, setAside: 0, failed: 2 })

  it('add up over processes and within a minute, and have what waits at the source', async () => {
    const [one, other] = [await enrolled('summed'), await enrolled('summed')]
    await writeSample(pool, one, counts(5), [
      { partition: 't/0', behind: 7 },
      { partition: 't/1', behind: null },
    ])
    await writeSample(pool, other, counts(4), [{ partition: 't/2', behind: 2 }])
    await writeSample(pool, one, counts(1), [{ partition: 't/0', behind: 3 }])
    const { rows } = await pool.query(
      'select sum(applied)::int as applied, sum(failed)::int as failed, count(*)::int as rows from onceward.sample',
    )
    assert.deepEqual([rows[0].applied, rows[0].failed], [10, 6])
    assert.ok(rows[0].rows <= 2, 'one row for each minute')
    const { lag, behind } = await of('summed')
    assert.equal(last(lag), 5)
    assert.deepEqual(
      behind.map(({ partition, behind: count }) => [partition, count]),
      [
        ['t/0', 3],
        ['t/2', 2],
      ],
    )
  })

  it('count a queue once that two processes read', async () => {
    const [one, other] = [await enrolled('queue'), await enrolled('queue')]
    for (const run of [one, other]) await writeSample(pool, run, counts(0), [{ partition: 'q', behind: 9 }])
    assert.equal(last((await of('queue')).lag), 9)
  })

  it('keep 64 minutes: an older one is replaced, and a minute without a sample is unknown', async () => {
    const run = await enrolled('ring')
    await writeSample(pool, run, counts(5), [])
    await pool.query(
      `update onceward.sample set minute = minute - interval '64 minutes' where consumer_id = $1`,
      [run.consumerId],
    )
    assert.ok((await of('ring')).applied.every(value => value === null))
    await writeSample(pool, run, counts(3), [])
    const { rows } = await pool.query('select applied::int from onceward.sample where consumer_id = $1', [
      run.consumerId,
    ])
    assert.deepEqual(rows.at(-1), { applied: 3 })
    assert.equal((await of('ring')).applied.filter(value => value !== null).length, 1)
  })

  it('are written by a running process, with its exact counts', async t => {
    await createQueue(pool, 'sampled')
    const running = await runConsumer(defineConsumer(contract), { databaseUrl: database.url })
    t.after(() => running.drain())
    await publish(pool, 'sampled', [
      ...Array.from({ length: 20 }, (_, n) => ({ body: { id: `a${n}` } })),
      { body: { id: 'a0' } },
      { body: { id: 'b', does: 'park' } },
    ])
    await hint(pool, 'sampled')
    const outcomes = () => running.consumer!.tally.outcomes
    await until('all are settled', async () => outcomes().parked === 1 && outcomes().duplicate === 1)
    const process = running.consumer!
    const sampler = new FlowSampler({ processes: () => [process], pool, env: realEnvironment(), everyMs: 5 })
    const writtenAt = async () => {
      const { runId } = process.enrolment!
      const { rows } = await pool.query('select lag_at as at from onceward.run where id = $1', [runId])
      return (rows[0].at as Date | null)?.getTime() ?? 0
    }
    await until('it is written', async () => (await writtenAt()) > 0)
    const first = await writtenAt()
    await until('it is written again', async () => (await writtenAt()) > first)
    await sampler.close()
    const sum = (values: readonly (number | null)[]) =>
      values.reduce<number>((all, one) => all + (one ?? 0), 0)
    const { applied, duplicates, setAside } = await of('sampled')
    assert.deepEqual([sum(applied), sum(duplicates), sum(setAside)], [20, 1, 1], 'each was counted once')
  })
})
