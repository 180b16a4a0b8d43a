import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Consumer, defineConsumer, projection, runConsumer } from 'onceward'
import { topic } from 'onceward/kafka'
import { createPool, migrate } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { explain } from '../../src/evidence/explain.ts'
import { openKafka } from '../kafka/fixture.ts'
import { createDatabase, skipWithout } from '../services/services.ts'

interface Case {
  readonly id: string
  readonly case: string
  readonly version: number
  readonly state: string
  readonly at: string
}

const record: Case = { id: 'e-1', case: 'case-7', version: 4, state: 'open', at: '2026-11-01T08:00:00Z' }

describe('explain with the contract', await skipWithout('postgres', 'kafka'), () => {
  test('answers every question of 003 §18 about a message that simply succeeded', async t => {
    const kafka = await openKafka(t)
    const cases = await kafka.createTopic()
    const database = await createDatabase()
    const pool = createPool(database.url, { max: 2 })
    t.after(async () => {
      await pool.end()
      await database.drop()
    })
    await migrate(pool)
    await pool.query(`create table board (id text primary key, version bigint not null, state text,
      caused_by text, caused_by_run integer)`)
    const consumer = defineConsumer<Case>({
      name: 'board',
      owner: 'cases',
      risk: 'regulatory',
      handlerVersion: '3.0',
      source: topic(cases, { start: 'earliest' }),
      identity: {
        id: m => m.id,
        eventId: m => m.id,
        type: () => 'CaseMoved',
        schemaVersion: () => 2,
        producer: () => 'case-platform',
        correlationId: m => `chain-${m.case}`,
        causationId: m => `cause-${m.id}`,
        aggregateId: m => m.case,
        aggregateVersion: m => m.version,
        occurredAt: m => m.at,
      },
      effect: {
        apply: projection<Case>({
          table: 'board',
          key: { id: 'case' },
          version: { version: 'version' },
          columns: { state: 'state' },
          cause: true,
          gap: 'accept latest',
        }),
      },
    }) as unknown as Consumer
    const addresses = { databaseUrl: database.url, kafkaBootstrap: kafka.bootstrap }
    const running = await runConsumer(consumer, addresses)
    t.after(() => running.leave())
    await kafka.produce(cases, [JSON.stringify(record)])
    await until('it is applied', async () => (await pool.query('select 1 from board')).rows.length === 1)
    await running.drain()

    const question = { by: 'message', id: 'e-1' } as const
    const { stories } = await explain(pool, question, { contract: consumer as never })
    assert.equal(stories.length, 1)
    const answers = Object.fromEntries(stories[0]!.answers.map(({ asked, answer }) => [asked, answer]))
    assert.deepEqual(
      Object.keys(answers).filter(asked => answers[asked] === null),
      [],
    )
    assert.partialDeepStrictEqual(answers, {
      'source event id': 'e-1',
      'source time': '2026-11-01T08:00:00.000Z',
      position: `${cases}/0@0`,
      decision: 'applied',
      reason: 'it was new',
      aggregate: 'case-7, version 4',
    })
    assert.match(answers['sink rows']!, /board/)
  })
})
