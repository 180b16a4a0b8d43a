import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  type Consumer,
  type ConsumerContract,
  defineConsumer,
  runConsumer,
  type SqlTransaction,
} from 'onceward'
import { createPool, createQueue, migrate, postgresQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { explain } from '../../src/evidence/explain.ts'
import { type FactContract, Scene } from '../replay/scene.ts'
import { createDatabase, skipWithout } from '../services/services.ts'

interface Payment {
  readonly id: string
  readonly amount: number
}

const sentMs = Date.UTC(2026, 0, 2, 3, 4, 5)

const base: ConsumerContract<Payment, SqlTransaction> = {
  name: 'paying',
  owner: 'tests',
  risk: 'money',
  handlerVersion: '2.1',
  source: postgresQueue('paying'),
  identity: {
    id: m => m.id,
    type: () => 'PaymentRequested',
    schemaVersion: () => 3,
    producer: { header: 'from' },
    correlationId: { property: 'correlationId' },
    causationId: { header: 'cause' },
    eventId: m => `event-${m.id}`,
    aggregateId: m => `account-${m.id}`,
    aggregateVersion: m => m.amount,
  },
  handle: async () => {},
}

describe('receipts', await skipWithout('postgres'), () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  let pool: ReturnType<typeof createPool>

  before(async () => {
    database = await createDatabase()
    pool = createPool(database.url, { max: 4 })
    await migrate(pool)
  })
  after(async () => {
    await pool.end()
    await database.drop()
  })

  /** Consumes these payments, and answers the questions of an audit about one of them. */
  async function consume(contract: ConsumerContract<Payment, SqlTransaction>, ...ids: readonly string[]) {
    const name = contract.name
    await createQueue(pool, name)
    await publish(
      pool,
      name,
      ids.map((id, n) => ({
        body: { id, amount: n + 1 },
        headers: { from: 'shop', cause: `click-${id}` },
        properties: { correlationId: `order-${id}`, timestampMs: sentMs },
      })),
    )
    const consumer = defineConsumer({ ...contract, source: postgresQueue(name) })
    const running = await runConsumer(consumer, { databaseUrl: database.url })
    await until('all are applied', async () => {
      const { rows } = await pool.query(
        `select count(*)::integer as n from onceward.inbox i join onceward.consumer c on c.id = i.consumer_id
         where c.name = $1 and i.status = 'applied'`,
        [name],
      )
      return rows[0].n === ids.length
    })
    await running.drain()
    return consumer
  }

  async function ask(consumer: Pick<Consumer, 'name'>, id: string, payload = false) {
    const { stories } = await explain(pool, { by: 'message', id }, { consumer: consumer.name, payload })
    const { answers, timeline } = stories[0]!
    return {
      answers: Object.fromEntries(answers.map(({ asked, answer }) => [asked, answer])),
      from: Object.fromEntries(answers.map(({ asked, from }) => [asked, from])),
      received: timeline.filter(({ what }) => what === 'received'),
    }
  }

  const receipts = async (name: string) =>
    (
      await pool.query(
        `select r.count, r.facts, r.payloads, r.id_hashes from onceward.receipt r join onceward.consumer c on c.id = r.consumer_id
         where c.name = $1 order by r.at`,
        [name],
      )
    ).rows

  it('answer every question of an auditor about an applied message', async () => {
    const consumer = await consume(base, 'p1', 'p2', 'p3')
    const { answers, from } = await ask(consumer, 'p2')
    assert.partialDeepStrictEqual(answers, {
      'source event id': 'p2',
      'event type': 'PaymentRequested',
      'event version': '3',
      'event id': 'event-p2',
      producer: 'shop',
      'correlation id': 'order-p2',
      'causation id': 'click-p2',
      aggregate: 'account-p2, version 2',
      'source time': '2026-01-02T03:04:05.000Z',
      'transform version': '2.1',
      decision: 'applied',
      reason: 'it was new',
      'replay or backfill': 'live',
      consumer: 'paying, generation 1',
    })
    assert.notEqual(answers['ingested at'], null)
    assert.notEqual(answers['processed at'], null)
    assert.equal(from['event type'], 'its receipt')
    assert.equal(
      (await receipts('paying')).every(row => row.id_hashes === null),
      true,
    )
  })

  it('have the time of the event, by the message itself', async () => {
    const identity = { ...base.identity, occurredAt: (m: Payment) => times[m.id] }
    const times: Record<string, string | number> = {
      iso: '2026-01-01T12:00:00.5+02:00',
      ms: Date.UTC(2025, 11, 31),
      zoneless: '2026-01-01T12:00:00',
    }
    const consumer = await consume({ ...base, name: 'dating', identity }, ...Object.keys(times), 'none')
    const timeOf = async (id: string) => {
      const { answers, from } = await ask(consumer, id)
      return [answers['source time'], from['source time']]
    }
    const itself = 'the message itself, in its receipt'
    const sent = ['2026-01-02T03:04:05.000Z', "the broker's timestamp, in its receipt"]
    assert.deepEqual(await timeOf('iso'), ['2026-01-01T10:00:00.500Z', itself])
    assert.deepEqual(await timeOf('ms'), ['2025-12-31T00:00:00.000Z', itself])
    assert.deepEqual(await timeOf('zoneless'), sent)
    assert.deepEqual(await timeOf('none'), sent)
  })

  it('are one row for a batch, and have the bytes only where the contract keeps them', async () => {
    const ids = Array.from({ length: 50 }, (_, n) => `b${n}`)
    const consumer = await consume({ ...base, name: 'keeping', evidence: { keep: 'payload' } }, ...ids)
    const rows = await receipts('keeping')
    assert.ok(rows.length < ids.length / 2, `${rows.length} rows`)
    assert.equal(
      rows.reduce((sum, { count }) => sum + count, 0),
      ids.length,
    )
    const { received } = await ask(consumer, 'b17', true)
    assert.match(JSON.stringify(received[0]!.facts.body), /b17/)
    const bare = await ask({ name: 'paying' }, 'p1', true)
    assert.equal('body' in bare.received[0]!.facts, false)
  })

  it('of stored messages are found after a worker applied them', async () => {
    const consumer = await consume({ ...base, name: 'storing', inbox: { mode: 'stored' } }, 's1', 's2')
    const { answers, received } = await ask(consumer, 's2')
    assert.deepEqual([answers['event type'], answers.decision], ['PaymentRequested', 'applied'])
    assert.equal(received.length, 1)
    assert.ok(answers['ingested at']! < answers['processed at']!)
  })

  it('are kept for each round of a retried message, and the last one answers', async () => {
    let failures = 2
    const consumer = await consume(
      {
        ...base,
        name: 'retrying',
        failure: { attemptsMax: 5, delayMs: 1, delayMaxMs: 1 },
        async handle() {
          if (failures-- > 0) throw new Error('not yet')
        },
      },
      'r1',
    )
    const rounds = await receipts('retrying')
    assert.deepEqual(
      rounds.map(({ count, facts }) => [count, facts.id]),
      [
        [1, ['r1']],
        [1, ['r1']],
        [1, ['r1']],
      ],
    )
    const { answers, from } = await ask(consumer, 'r1')
    assert.deepEqual([answers.decision, answers['event type']], ['applied', 'PaymentRequested'])
    assert.equal(from['event type'], 'its receipt')
  })

  it('of batch handlers are the same', async () => {
    const { handle: _, ...rest } = base
    const consumer = await consume({ ...rest, name: 'batching', handleBatch: async () => {} }, 'h1', 'h2')
    assert.equal((await ask(consumer, 'h1')).answers['correlation id'], 'order-h1')
  })

  it('outlive their markers where retention says so, and are found by id', async () => {
    const consumer = await consume(
      {
        ...base,
        name: 'outliving',
        retention: { markers: '30d', receipts: '7y', sourceKeeps: '14d' },
      },
      'o1',
      'o2',
    )
    await pool.query(`delete from onceward.inbox where message_id in ('o1', 'o2')`)
    assert.equal((await ask(consumer, 'o2')).answers.aggregate, 'account-o2, version 2')
  })

  it('are not written for other risks, nor for a batch of duplicates', async () => {
    const consumer = await consume({ ...base, name: 'plain', risk: 'projection' }, 'n1', 'n2')
    assert.deepEqual(await receipts('plain'), [])
    const { answers, from } = await ask(consumer, 'n1')
    assert.equal(answers['event type'], null)
    assert.match(from['event type']!, /keeps no receipts/)
    const asking = { ...base, name: 'asking', risk: 'low value', evidence: { receipts: true } } as const
    await consume(asking, 'a1', 'a2')
    const written = (await receipts('asking')).length
    await consume(asking, 'a1', 'a2')
    assert.equal((await receipts('asking')).length, written)
  })
})

describe('receipts of a log', await skipWithout('postgres'), () => {
  const identity: FactContract['identity'] = { id: fact => fact.id, type: () => 'Fact' }
  const counting: Partial<FactContract> = { evidence: { receipts: true }, effect: {}, handle: () => {} }

  it('exist without markers, by position', async t => {
    const scene = await Scene.open(t)
    const consumer = scene.contract({
      ...counting,
      identity,
      dedup: 'checkpoint',
      order: 'partition',
      replay: { modes: ['forensic'] },
      settle: { when: 'with effect' },
    })
    await scene.write({ id: 'f1' }, { id: 'f2' }, { id: 'f3' })
    await scene.live(consumer)
    const { stories } = await explain(scene.pool, { by: 'message', id: 'f2' })
    const of = Object.fromEntries(stories[0]!.answers.map(({ asked, answer }) => [asked, answer]))
    assert.equal(of['event type'], 'Fact')
    assert.match(of.position!, /facts\.jsonl/)
    assert.equal(stories[0]!.timeline[0]!.what, 'received')
  })

  it('of a campaign name its mode and its number', async t => {
    const scene = await Scene.open(t)
    const consumer = scene.contract({ ...counting, identity })
    await scene.write({ id: 'g1' }, { id: 'g2' })
    await scene.passed(consumer)
    const replay = await scene.replay(consumer)
    const id = await scene.planned(replay, { mode: 'replay' })
    await replay.run(id)
    const { stories } = await explain(scene.pool, { by: 'message', id: 'g2' })
    const [row] = await scene.rows<{ facts: unknown }>('select facts from onceward.receipt')
    assert.partialDeepStrictEqual(row!.facts, { mode: 'replay', campaign: id, type: 'Fact' })
    const of = Object.fromEntries(stories[0]!.answers.map(({ asked, answer }) => [asked, answer]))
    assert.equal(of['replay or backfill'], `replay, campaign ${id}`)
  })
})
