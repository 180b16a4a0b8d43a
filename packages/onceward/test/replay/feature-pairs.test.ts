import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { contribution, ignore, projection, runConsumer, type SqlTransaction } from 'onceward'
import { until } from 'onceward/testing'
import { verifyCampaign } from '../../src/replay/campaign/steer-campaign.ts'
import { skipWithout } from '../services/services.ts'
import { type Fact, type FactContract, Scene } from './scene.ts'

type Changes = Partial<FactContract>
interface Entry {
  readonly id: string
  readonly account: string
  readonly amount: string
  readonly corrects?: string
  readonly withdraws?: boolean
}
interface State {
  readonly id: string
  readonly key: string
  readonly version: number
  readonly gone?: boolean
}
const of = <T>(messages: readonly T[]) => messages as unknown as readonly Fact[]

const ledger: Changes = {
  handle: undefined as never,
  risk: 'projection',
  replay: { modes: ['replay', 'repair', 'rebuild'], tables: ['entry', 'balance'] },
  effect: {
    apply: contribution<Entry>({
      facts: 'entry',
      summary: 'balance',
      window: 'none',
      key: m => m.account,
      eventId: m => m.id,
      values: { amount: m => m.amount },
      corrects: m => m.corrects ?? null,
      withdraws: m => m.withdraws === true,
      notNegative: ['amount'],
      retryDelayMs: 5,
    }) as never,
  },
}
const ledgerTables = `
  create table entry (event_id text collate "C" not null, sign smallint not null, reverses text collate "C", key text not null,
    amount numeric(14,2) not null, message_id text, primary key (event_id, sign));
  create unique index on entry (reverses) where reverses is not null;
  create table balance (key text primary key, count bigint not null, amount numeric(14,2) not null)`

const states = (gap: 'wait' | 'accept latest'): Changes => ({
  handle: undefined as never,
  risk: 'projection',
  replay: { modes: ['replay', 'repair', 'rebuild'], tables: ['state'] },
  effect: {
    apply: projection<State>({
      table: 'state',
      key: { id: 'key' },
      version: { version: 'version' },
      columns: { source: (m: State) => m.id },
      delete: { column: 'gone', when: (m: State) => m.gone === true },
      gap:
        gap === 'wait'
          ? {
              policy: 'wait',
              deadlineMs: 60_000,
              atDeadline: 'park',
              keyMax: 9,
              totalMax: 9,
              whenFull: 'park',
            }
          : gap,
    } as never) as never,
  },
})
const stateTables = `create table state (id text primary key, version bigint not null, source text, gone boolean not null default false)`

async function rebuilt(scene: Scene, changes: Changes, accept: Record<string, string> = {}) {
  const replay = await scene.replay(scene.contract(changes))
  const id = await scene.planned(replay, { mode: 'rebuild' })
  await replay.run(id)
  const verified = await verifyCampaign(scene.pool, id)
  return { id, replay, verified, swap: () => replay.swap(id, { accept }) }
}

/** Consumes the file to its end, then lets a worker work until `done`. */
async function liveUntil(scene: Scene, changes: Changes, what: string, done: () => Promise<boolean>) {
  await scene.live(scene.contract(changes))
  const running = await runConsumer(scene.contract(changes), { databaseUrl: scene.url, parts: ['worker'] })
  try {
    await until(what, done, { deadlineMs: 30_000 })
  } finally {
    await running.drain()
  }
}

const open = async (t: TestContext, tables: string): Promise<Scene> => {
  const scene = await Scene.open(t)
  await scene.pool.query(tables)
  return scene
}

const liveHeld = (scene: Scene) =>
  scene.rows(
    'select from onceward.held h join onceward.consumer c on c.id = h.consumer_id where c.generation = 1',
  )

describe('where two features touch', await skipWithout('postgres'), () => {
  const balances = (scene: Scene) =>
    scene.rows('select key, count::int, amount::text from balance order by key')
  const first: readonly Entry[] = [
    { id: 'e1', account: 'a', amount: '10' },
    { id: 'e2', account: 'a', amount: '5' },
    { id: 'c1', account: 'b', amount: '7', corrects: 'e1' },
    { id: 'c2', account: 'b', amount: '8', corrects: 'c1' },
    { id: 'w2', account: 'a', amount: '5', corrects: 'e2', withdraws: true },
  ]

  test('corrections and a rebuild: the same balances, and later corrections find what was rebuilt', async t => {
    const scene = await open(t, ledgerTables)
    await scene.write(...of(first))
    await scene.live(scene.contract(ledger))
    const before = await balances(scene)
    assert.deepEqual(before.at(-1), { key: 'b', count: 1, amount: '8.00' })
    const { id, replay, verified, swap } = await rebuilt(scene, ledger)
    assert.ok(verified.complete, JSON.stringify(verified))
    await scene.write(...of<Entry>([{ id: 'c3', account: 'b', amount: '9', corrects: 'c2' }]))
    await swap()
    await scene.live(scene.contract(ledger))
    assert.deepEqual((await balances(scene)).at(-1), { key: 'b', count: 1, amount: '9.00' })
    await scene.write(...of<Entry>([{ id: 'c4', account: 'b', amount: '4', corrects: 'c1' }]))
    await liveUntil(
      scene,
      ledger,
      'the second correction of one fact is set aside',
      async () => (await scene.rows(`select from onceward.held where state = 'quarantined'`)).length === 1,
    )
    await replay.rollBack(id)
    assert.deepEqual(await balances(scene), before)
    // What was applied since the swap is applied again to the old tables, once.
    const again = await scene.planned(replay, { mode: 'replay' })
    await replay.run(again)
    assert.deepEqual((await balances(scene)).at(-1), { key: 'b', count: 1, amount: '9.00' })
  })

  test('a correction that waits for its fact and a rebuild: neither is lost or counted twice', async t => {
    const scene = await open(t, ledgerTables)
    const waiting: Changes = {
      ...ledger,
      inbox: { mode: 'stored' },
      order: 'key',
      identity: { id: (m: Fact) => m.id, orderKey: (m: Fact) => m.id },
      failure: { attemptsMax: 6, delayMs: 20, delayMaxMs: 20 },
    }
    await scene.write(...of<Entry>([{ id: 'c1', account: 'a', amount: '7', corrects: 'e1' }]))
    await liveUntil(
      scene,
      waiting,
      'the correction was tried',
      async () => (await scene.rows(`select from onceward.held where attempts > 0`)).length === 1,
    )
    // A campaign over the same log ends, although the fact is nowhere.
    const early = await rebuilt(scene, waiting)
    assert.equal(early.verified.held, 1)
    await assert.rejects(early.swap())
    await scene.write(...of<Entry>([{ id: 'e1', account: 'a', amount: '10' }]))
    await liveUntil(
      scene,
      waiting,
      'the correction is applied',
      async () => (await balances(scene))[0]?.amount === '7.00',
    )
    assert.deepEqual(await balances(scene), [{ key: 'a', count: 1, amount: '7.00' }])
    const { verified, swap } = await rebuilt(scene, waiting)
    if (verified.complete) await swap()
    assert.deepEqual(await balances(scene), [{ key: 'a', count: 1, amount: '7.00' }])
  })

  const table = (scene: Scene) => scene.rows('select id, version::int, source, gone from state order by id')

  test('a deletion behind a gap: it waits, is applied in its turn, and nothing older brings the row back', async t => {
    const scene = await open(t, stateTables)
    const waits = states('wait')
    await scene.write(
      ...of<State>([
        { id: 's1', key: 'k', version: 1 },
        { id: 's3', key: 'k', version: 3, gone: true },
      ]),
    )
    await liveUntil(
      scene,
      waits,
      'the deletion waits',
      async () => (await scene.rows(`select from onceward.held where message_id = 's3'`)).length === 1,
    )
    assert.deepEqual(await table(scene), [{ id: 'k', version: 1, source: 's1', gone: false }])
    const early = await rebuilt(scene, waits)
    assert.equal(early.verified.held, 1, 'the rebuild has the same hole')
    await scene.write(...of<State>([{ id: 's2', key: 'k', version: 2 }]))
    await liveUntil(
      scene,
      waits,
      'the deletion is applied',
      async () => (await table(scene))[0]!.version === 3,
    )
    assert.deepEqual(await table(scene), [{ id: 'k', version: 3, source: 's3', gone: true }])
    assert.deepEqual(await liveHeld(scene), [])
    await scene.write(...of<State>([{ id: 's2 again', key: 'k', version: 2 }]))
    await scene.live(scene.contract(waits))
    assert.deepEqual(await table(scene), [{ id: 'k', version: 3, source: 's3', gone: true }])
  })

  test('a deletion, a rebuild and its rollback: the row stays deleted, live and in both tables', async t => {
    const scene = await open(t, stateTables)
    const plain = states('accept latest')
    await scene.write(
      ...of<State>([
        { id: 's1', key: 'k', version: 1 },
        { id: 's2', key: 'k', version: 2, gone: true },
        { id: 's1 again', key: 'k', version: 1 },
      ]),
    )
    await scene.live(scene.contract(plain))
    const before = await table(scene)
    assert.deepEqual(before, [{ id: 'k', version: 2, source: 's2', gone: true }])
    const { id, replay, swap } = await rebuilt(scene, plain)
    await swap()
    assert.deepEqual(await table(scene), before)
    await scene.write(...of<State>([{ id: 's1 thrice', key: 'k', version: 1 }]))
    await scene.live(scene.contract(plain))
    assert.deepEqual(await table(scene), before)
    await replay.rollBack(id)
    assert.deepEqual(await table(scene), before)
  })

  test('a stored holder of a business key, its resend, and a replay of the log: one effect', async t => {
    const scene = await Scene.open(t)
    const stored = (say: 'apply' | 'ignore'): Changes => ({
      inbox: { mode: 'stored' },
      effect: {},
      identity: { id: (m: Fact) => m.id, businessKey: (m: Fact) => m.key },
      handle: (async ({ message, tx, mode }: { message: Fact; tx: SqlTransaction; mode: string }) => {
        if (message.id === 'a' && say === 'ignore') return ignore('nothing to do')
        await tx.query(
          'insert into effect (id, mode) values ($1, $2) on conflict (id) do update set times = effect.times + 1',
          [message.id, mode],
        )
        return undefined
      }) as never,
    })
    await scene.write({ id: 'a', key: 'cap' }, { id: 'b', key: 'cap' })
    for (const say of ['apply', 'ignore'] as const) {
      const id = say === 'apply' ? 'a' : 'b'
      if (say === 'ignore') {
        await scene.pool.query(
          'truncate effect; delete from onceward.held; delete from onceward.business_key; delete from onceward.inbox; delete from onceward.checkpoint',
        )
      }
      await scene.live(scene.contract(stored(say)))
      const replay = await scene.replay(scene.contract(stored(say)))
      const campaign = await scene.planned(replay, { mode: 'replay' })
      await replay.run(campaign)
      await liveUntil(
        scene,
        stored(say),
        'both have ended',
        async () => (await scene.rows('select from onceward.held')).length === 0,
      )
      assert.deepEqual(await scene.rows('select id, times from effect'), [{ id, times: 1 }], say)
    }
  })

  test('a projection with code behind it, stored and retried: its row and its message once', async t => {
    const scene = await open(t, stateTables)
    let failures = 2
    const plain = states('accept latest')
    const changes: Changes = {
      ...plain,
      inbox: { mode: 'stored' },
      failure: { attemptsMax: 5, delayMs: 5, delayMaxMs: 10 },
      effect: {
        publish: { out: { broker: 'postgres', queue: 'out' } },
        apply: projection<State>({
          table: 'state',
          key: { id: 'key' },
          version: { version: 'version' },
          columns: { source: (m: State) => m.id },
          gap: 'accept latest',
          async after({ message, tx, effects, mode }: never) {
            const { id } = message as State
            await (tx as SqlTransaction).query(
              'insert into effect (id, mode) values ($1, $2) on conflict (id) do update set times = effect.times + 1',
              [id, mode],
            )
            ;(effects as { publish(to: string, message: object): void }).publish('out', { body: message })
            if (id === 's2' && failures-- > 0) throw new Error('not yet')
          },
        } as never) as never,
      },
    }
    await scene.write(
      ...of<State>([
        { id: 's1', key: 'k', version: 1 },
        { id: 's2', key: 'j', version: 1 },
        { id: 'o1', key: 'o', version: 1 },
      ]),
    )
    await liveUntil(
      scene,
      changes,
      'all are applied',
      async () => (await scene.rows(`select from onceward.inbox where status = 'applied'`)).length === 3,
    )
    assert.deepEqual(await scene.rows('select id, times, mode from effect order by id'), [
      { id: 'o1', times: 1, mode: 'live' },
      { id: 's1', times: 1, mode: 'live' },
      { id: 's2', times: 1, mode: 'live' },
    ])
    assert.deepEqual((await scene.rows('select count(*)::int as n from onceward.outbox'))[0], { n: 3 })
  })
})
