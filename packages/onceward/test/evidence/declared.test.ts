import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  contribution,
  type DeclaredEffect,
  defineConsumer,
  projection,
  runConsumer,
  transition,
} from 'onceward'
import { createPool, createQueue, migrate, postgresQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { explain } from '../../src/evidence/explain.ts'
import { reconcile } from '../../src/evidence/reconcile/reconcile.ts'
import { createDatabase, skipWithout } from '../services/services.ts'

interface Change {
  readonly id: string
  readonly case: string
  readonly event: string
  readonly version: number
}

const changes: readonly Change[] = [
  { id: 'c-1', case: 'case-7', event: 'Opened', version: 1 },
  { id: 'c-2', case: 'case-7', event: 'Breached', version: 2 },
  { id: 'c-3', case: 'case-8', event: 'Opened', version: 1 },
]

const cases = transition<Change>({
  machine: {
    initial: 'open',
    states: ['open', 'breached'],
    events: { Opened: { from: null, to: 'open' }, Breached: { from: 'open', to: 'breached' } },
  },
  aggregate: { table: 'cases', key: 'id', state: 'state', version: 'version' },
  facts: 'case_facts',
  aggregateId: m => m.case,
  transitionId: m => m.id,
  event: m => m.event,
  version: m => m.version,
  actor: () => 'clock',
  reason: m => `told by ${m.id}`,
  cause: true,
})
const board = projection<Change>({
  table: 'board',
  key: { id: 'case' },
  version: { version: 'version' },
  columns: { event: 'event' },
  digest: 'content',
  cause: true,
  gap: 'accept latest',
})
const tally = contribution<Change>({
  facts: 'tally_facts',
  summary: 'tally',
  window: 'none',
  key: m => m.case,
  eventId: m => m.id,
})

describe('rows of declared effects', await skipWithout('postgres'), () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  let pool: ReturnType<typeof createPool>
  const consumers = new Map<string, ReturnType<typeof defineConsumer<Change>>>()

  before(async () => {
    database = await createDatabase()
    pool = createPool(database.url, { max: 4 })
    await migrate(pool)
    await pool.query(`
      create table cases (id text primary key, state text not null, version bigint not null, caused_by text, caused_by_run integer);
      create table case_facts (seq bigint generated always as identity primary key, transition_id text collate "C" not null unique,
        consumer text not null, aggregate_id text not null, from_state text, to_state text not null, version bigint not null, actor text,
        reason text, message_id text not null, at timestamptz not null default now());
      create table board (id text primary key, version bigint not null, event text, content bytea, caused_by text, caused_by_run integer);
      create table tally_facts (event_id text collate "C" not null, sign smallint not null, key text not null, message_id text,
        consumer text, primary key (event_id, sign));
      create table tally (key text primary key, count bigint not null)`)
    for (const [name, apply] of Object.entries({ cases, board, tally })) await live(name, apply)
  })
  after(async () => {
    await pool.end()
    await database.drop()
  })

  async function live(name: string, apply: DeclaredEffect<Change>): Promise<void> {
    const consumer = defineConsumer<Change>({
      name,
      owner: 'tests',
      risk: 'projection',
      handlerVersion: '2.0',
      source: postgresQueue(name),
      identity: { id: m => m.id },
      batch: { inFlightMax: 1 },
      effect: { apply },
    })
    consumers.set(name, consumer)
    await createQueue(pool, name)
    const running = await runConsumer(consumer, { databaseUrl: database.url })
    for (const [n, body] of changes.entries()) {
      await publish(pool, name, [{ body }])
      const of =
        'select count(*)::integer as n from onceward.inbox i join onceward.consumer c on c.id = i.consumer_id where c.name = $1'
      await until('it is applied', async () => (await pool.query(of, [name])).rows[0].n > n)
    }
    await running.drain()
  }
  const contract = (name: string) => consumers.get(name) as never

  it('carry the message and the run that wrote them last', async () => {
    for (const table of ['cases', 'board']) {
      const { rows } = await pool.query(
        `select t.id, t.caused_by, r.handler_version from ${table} t join onceward.run r on r.id = t.caused_by_run order by 1`,
      )
      assert.deepEqual(rows, [
        { id: 'case-7', caused_by: 'c-2', handler_version: '2.0' },
        { id: 'case-8', caused_by: 'c-3', handler_version: '2.0' },
      ])
    }
  })

  it('explain why a case is shown as breached', async () => {
    const byRow = await explain(
      pool,
      { by: 'row', table: 'cases', key: 'case-7' },
      { contract: contract('cases') },
    )
    const story = byRow.stories[0]!
    assert.deepEqual([byRow.stories.length, story.messageId, story.consumer], [1, 'c-2', 'cases'])
    const wrote = story.timeline.filter(entry => entry.what.startsWith('wrote'))
    assert.deepEqual(
      wrote.map(entry => [entry.what, entry.text]),
      [
        [
          'wrote case_facts',
          'case-7, version 2, transition_id c-2, from_state open, to_state breached, actor clock, reason told by c-2',
        ],
        ['wrote cases', 'case-7, version 2, state breached (current state)'],
      ],
    )
    assert.equal(story.answers.find(one => one.asked === 'transform version')!.answer, '2.0')
  })

  it('are found by their aggregate, and by a version of it', async () => {
    const ids = async (version: string | null, name: string) => {
      const { stories } = await explain(
        pool,
        { by: 'aggregate', id: 'case-7', version },
        { contract: contract(name) },
      )
      return stories.map(story => story.messageId)
    }
    assert.deepEqual(await ids(null, 'cases'), ['c-1', 'c-2'])
    assert.deepEqual(await ids('1', 'cases'), ['c-1'])
    assert.deepEqual(await ids(null, 'board'), ['c-2'])
    assert.deepEqual(await ids(null, 'tally'), ['c-1', 'c-2'])
    const blind = await explain(pool, { by: 'aggregate', id: 'case-7', version: null })
    assert.deepEqual(blind.stories, [])
    assert.match(blind.limits[0]!, /pass --contract/)
  })

  it('show message contents only on request', async () => {
    const text = async (payload: boolean) => {
      const options = { contract: contract('board'), payload, consumer: 'board' }
      const { stories } = await explain(pool, { by: 'message', id: 'c-3' }, options)
      return stories[0]!.timeline.find(entry => entry.what === 'wrote board')!.text
    }
    assert.equal(await text(false), 'case-8, version 1 (current state)')
    assert.equal(await text(true), 'case-8, version 1, event Opened (current state)')
  })

  it('are compared with their markers without any query', async () => {
    const found = async (name: string) =>
      (await reconcile(pool, contract(name))).drift.map(({ kind, examples }) => [kind, examples[0]!.id])
    for (const name of consumers.keys()) assert.deepEqual(await found(name), [], name)
    await pool.query(`delete from case_facts where message_id = 'c-3'; update tally set count = 9 where key = 'case-7';
      update board set caused_by = 'nobody' where id = 'case-8'`)
    assert.deepEqual(await found('cases'), [['marker without effect', 'c-3']])
    assert.deepEqual(await found('tally'), [['summary differs from its facts', 'case-7']])
    assert.deepEqual(await found('board'), [['effect without marker', 'nobody']])
  })
})
