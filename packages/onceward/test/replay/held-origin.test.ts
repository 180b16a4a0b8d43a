import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { park, reject, runConsumer, Verdict } from 'onceward'
import { until } from 'onceward/testing'
import { listParked } from '../../src/operations/parking/list-parked.ts'
import { showRedrive } from '../../src/operations/parking/redrive-parked.ts'
import { releaseHeld } from '../../src/operations/work/release-held.ts'
import { verifyCampaign } from '../../src/replay/campaign/steer-campaign.ts'
import { showHeld } from '../../src/telemetry/held-work.ts'
import { replayAll } from '../parking/parked-scene.ts'
import { People, refusal } from '../parking/people.ts'
import { skipWithout } from '../services/services.ts'
import { type Fact, type FactContract, factContract, Scene } from './scene.ts'

type Handle = NonNullable<FactContract['handle']>
type Changes = Partial<FactContract>

/**
 * Parks these, and does to the others what every fact of the scene gets: a row, an external effect and a
 * message.
 */
const refusing = (...ids: readonly string[]): Handle =>
  (async context =>
    ids.includes(context.message.id) ? park('not today') : factContract('').handle!(context)) as Handle

const inOrder = {
  order: 'key' as const,
  identity: { id: (fact: { id: string }) => fact.id, orderKey: (fact: { key?: string }) => fact.key },
}
const never: Changes = { replay: { ...factContract('').replay!, effects: 'never' } }
const log = { of: 'log', start: 'first', end: 'next' } as const

/** The worker of the live consumer; drained before its database goes. */
async function startWorker(scene: Scene, changes: Changes = {}) {
  const running = await runConsumer(scene.contract(changes), { databaseUrl: scene.url, parts: ['worker'] })
  return { [Symbol.asyncDispose]: () => running.drain() }
}

/** Ids of what was asked for outside the database. */
async function requested(scene: Scene): Promise<{ effects: string[]; messages: string[] }> {
  const effects = await scene.rows<{ key: string }>(
    'select effect_key as key from onceward.ledger order by 1',
  )
  const messages = await scene.rows<{ id: string }>(
    `select convert_from(body, 'UTF8')::json ->> 'id' as id from onceward.outbox order by 1`,
  )
  return { effects: effects.map(row => row.key), messages: messages.map(row => row.id) }
}

const applied = (scene: Scene) =>
  scene.rows<{ id: string; times: number; mode: string }>(
    'select id, times, mode from effect order by xmin::text::bigint, id',
  )
const once = (mode: string, ...ids: readonly string[]) => ids.map(id => ({ id, times: 1, mode }))
const nothing = { effects: [], messages: [] }

/** Messages that were consumed live long ago, and of which nothing is left but their record in the log. */
async function history(scene: Scene, changes: Changes, ...facts: readonly Fact[]): Promise<void> {
  await scene.write(...facts)
  await scene.live(scene.contract(changes))
  for (const table of ['effect', 'onceward.inbox', 'onceward.ledger', 'onceward.outbox'])
    await scene.pool.query(`delete from ${table}`)
}

/** Runs a campaign that parks these, and answers with its number. */
async function campaign(scene: Scene, changes: Changes, ...bad: readonly string[]): Promise<string> {
  const replay = await scene.replay(scene.contract({ ...changes, handle: refusing(...bad) }))
  const id = await scene.planned(replay)
  assert.equal((await replay.run(id)).state, 'ran')
  return id
}

async function release(scene: Scene): Promise<void> {
  for (const { id } of await listParked(scene.pool, { countMax: 10 }))
    await releaseHeld(scene.pool, { id, consumer: 'facts', because: 'mended' })
}

const doors: readonly (readonly [string, (scene: Scene) => Promise<void>])[] = [
  ['parked redrive', scene => replayAll(scene, 'facts', 'r')],
  ['work release', release],
]

describe('a message that a campaign held and an operator releases', await skipWithout('postgres'), () => {
  for (const [door, letGo] of doors)
    test(`by ${door} requests no external effect, and shows its origin`, async t => {
      const scene = await Scene.open(t)
      await history(scene, never, { id: 'a' })
      const id = await campaign(scene, never, 'a')
      const [row] = await listParked(scene.pool, { countMax: 10 })
      assert.deepEqual([row!.campaign, row!.mode], [id, 'replay'])
      const shown = await showHeld(scene.pool, row!.id)
      assert.deepEqual([shown.campaign, shown.mode], [id, 'replay'])
      await letGo(scene)
      await using _worker = await startWorker(scene, never)
      await until('it is applied', async () => (await applied(scene)).length === 1)
      assert.deepEqual(await applied(scene), once('replay', 'a'))
      assert.deepEqual(await requested(scene), nothing)
      assert.deepEqual(
        await scene.rows(
          'select kind, message_id from onceward.suppressed_effect where campaign_id = $1 order by 1',
          id,
        ),
        [
          { kind: 'external', message_id: 'a' },
          { kind: 'publish', message_id: 'a' },
        ],
      )
      assert.equal((await verifyCampaign(scene.pool, id)).held, 0)
    })

  test('is applied in order of its key: the live message behind it requests its effects', async t => {
    const scene = await Scene.open(t)
    await history(scene, inOrder, { id: 'k1', key: 'k' }, { id: 'k2', key: 'k' })
    await campaign(scene, inOrder, 'k1')
    await scene.write({ id: 'k3', key: 'k' })
    await scene.live(scene.contract(inOrder))
    const [head] = await listParked(scene.pool, { countMax: 10 })
    await releaseHeld(scene.pool, { id: head!.id, consumer: 'facts', because: 'mended' })
    await using _worker = await startWorker(scene, inOrder)
    await until('all are applied', async () => (await applied(scene)).length === 3)
    assert.deepEqual(await applied(scene), [...once('replay', 'k1', 'k2'), ...once('live', 'k3')])
    assert.deepEqual(await requested(scene), { effects: ['k3'], messages: ['k3'] })
  })

  test('is applied after a live message of its key, in its own mode', async t => {
    const scene = await Scene.open(t)
    await scene.write({ id: 'k1', key: 'k' })
    await scene.live(scene.contract({ ...inOrder, handle: refusing('k1') }))
    await scene.write({ id: 'k2', key: 'k' })
    await scene.passed(scene.contract())
    await campaign(scene, inOrder)
    assert.deepEqual(
      (await listParked(scene.pool, { countMax: 10 })).map(row => [row.messageId, row.mode]),
      [
        ['k1', 'live'],
        ['k2', 'replay'],
      ],
    )
    await replayAll(scene, 'facts', 'r')
    await using _worker = await startWorker(scene, inOrder)
    await until('both are applied', async () => (await applied(scene)).length === 2)
    assert.deepEqual(await applied(scene), [...once('live', 'k1'), ...once('replay', 'k2')])
    assert.deepEqual(await requested(scene), { effects: ['k1'], messages: ['k1'] })
  })

  test('stays live work if it was held live before', async t => {
    const scene = await Scene.open(t)
    await scene.write({ id: 'a' })
    await scene.live(scene.contract({ handle: refusing('a') }))
    const id = await campaign(scene, {}, 'a')
    assert.deepEqual(await scene.outcomes(id), { 'already held': 1 })
    await replayAll(scene, 'facts', 'r')
    await using _worker = await startWorker(scene)
    await until('it is applied', async () => (await applied(scene)).length === 1)
    assert.deepEqual(await applied(scene), once('live', 'a'))
    assert.deepEqual(await requested(scene), { effects: ['a'], messages: ['a'] })
  })

  test('and the source delivers is live work from then on: acknowledged as held, it requests its effects', async t => {
    const scene = await Scene.open(t)
    await history(scene, {}, { id: 'a' })
    await campaign(scene, {}, 'a')
    await scene.write({ id: 'a' })
    await scene.live(scene.contract())
    assert.deepEqual(
      (await listParked(scene.pool, { countMax: 10 })).map(row => [row.mode, row.campaign]),
      [['live', null]],
    )
    await replayAll(scene, 'facts', 'r')
    await using _worker = await startWorker(scene)
    await until('it is applied', async () => (await applied(scene)).length === 1)
    assert.deepEqual(await applied(scene), once('live', 'a'))
    assert.deepEqual(await requested(scene), { effects: ['a'], messages: ['a'] })
  })

  test('and fails again keeps its origin, also when another campaign takes it', async t => {
    const scene = await Scene.open(t)
    await history(scene, {}, { id: 'a' })
    const id = await campaign(scene, {}, 'a')
    const origin = async () =>
      (await listParked(scene.pool, { countMax: 10 })).map(row => [row.messageId, row.mode, row.campaign])
    await replayAll(scene, 'facts', 'r')
    {
      await using _worker = await startWorker(scene, { handle: refusing('a') })
      await until('it is parked again', async () => (await origin()).length === 1)
    }
    assert.deepEqual(await origin(), [['a', 'replay', id]])
    const second = await scene.replay(scene.contract({ handle: refusing('a') }))
    const other = await scene.planned(second, { mode: 'backfill', selection: { of: 'parked' } })
    await second.run(other)
    assert.deepEqual(await scene.outcomes(other), { parked: 1 })
    assert.deepEqual(await origin(), [['a', 'replay', id]])
  })

  test('requests the effects that the campaign was approved for, once, and none when the approval has expired', async t => {
    const scene = await Scene.open(t)
    await history(scene, {}, { id: 'a' }, { id: 'b' })
    const replay = await scene.replay(scene.contract({ handle: refusing('a', 'b') }))
    const id = await scene.planned(replay, { mode: 'backfill', effects: 'requested', selection: log })
    await approve(scene)
    await replay.run(id)
    const [a, b] = (await listParked(scene.pool, { countMax: 10 })).map(row => row.id)
    await replayAll(scene, 'facts', 'r1', { ids: [a] })
    await using _worker = await startWorker(scene)
    await until('it is applied', async () => (await applied(scene)).length === 1)
    assert.deepEqual(await applied(scene), once('backfill', 'a'))
    assert.deepEqual(await requested(scene), { effects: ['a'], messages: ['a'] })
    await scene.pool.query(`delete from effect; delete from onceward.inbox where message_id = 'a'`)
    await expire(scene)
    await replayAll(scene, 'facts', 'r2', { ids: [b] })
    const { rows } = await showRedrive(scene.pool, 'r2', 10)
    assert.match(rows[0]!.why!, /was held by campaign \d+, whose approval has expired/)
    await assert.rejects(
      releaseHeld(scene.pool, { id: b!, consumer: 'facts', because: 'mended' }),
      /was not released: was held by campaign \d+, whose approval has expired/,
    )
    assert.deepEqual(await applied(scene), [])
  })

  test('keeps the ledger key of an effect that was requested before', async t => {
    const scene = await Scene.open(t)
    await scene.write({ id: 'a' })
    await scene.live(scene.contract())
    await scene.pool.query('delete from effect; delete from onceward.inbox')
    const replay = await scene.replay(scene.contract({ handle: refusing('a') }))
    const id = await scene.planned(replay, { mode: 'backfill', effects: 'requested', selection: log })
    await approve(scene)
    await replay.run(id)
    await replayAll(scene, 'facts', 'r')
    await using _worker = await startWorker(scene)
    await until('it is applied', async () => (await applied(scene)).length === 1)
    assert.deepEqual((await requested(scene)).effects, ['a'])
  })

  test('that may not be released blocks those behind it, and not those before it', async t => {
    const scene = await Scene.open(t)
    await history(scene, inOrder, { id: 'k2', key: 'k' })
    await scene.write({ id: 'k1', key: 'k' })
    await scene.live(scene.contract({ ...inOrder, handle: refusing('k1') }))
    const replay = await scene.replay(scene.contract(inOrder))
    await scene.planned(replay, { mode: 'backfill', effects: 'requested', selection: log })
    await approve(scene)
    await replay.run('1')
    await scene.write({ id: 'k3', key: 'k' })
    await scene.live(scene.contract(inOrder))
    await expire(scene)
    const [head] = await listParked(scene.pool, { countMax: 10 })
    await releaseHeld(scene.pool, { id: head!.id, consumer: 'facts', because: 'mended' })
    await using _worker = await startWorker(scene, inOrder)
    await until('the first is applied', async () => (await applied(scene)).length === 1)
    await scene.write({ id: 'k4', key: 'k' })
    await scene.live(scene.contract(inOrder))
    const parked = await listParked(scene.pool, { countMax: 10 })
    assert.deepEqual(
      parked.map(row => [row.messageId, row.code]),
      [
        ['k2', 'held_back'],
        ['k3', 'behind_parked'],
        ['k4', 'behind_parked'],
      ],
    )
    assert.match(parked[0]!.reason, /was held by campaign 1, whose approval has expired/)
    await approve(scene)
    await replayAll(scene, 'facts', 'r')
    await until('all are applied', async () => (await applied(scene)).length === 4)
    assert.deepEqual(await applied(scene), [
      ...once('live', 'k1'),
      ...once('backfill', 'k2'),
      ...once('live', 'k3', 'k4'),
    ])
  })

  test('or that waits is applied by a live worker in the mode of the campaign', async t => {
    const scene = await Scene.open(t)
    await history(scene, {}, { id: 'a' })
    const waits = () => Verdict.wait('too early', { key: 'k', version: 2n, withinMs: 1 })
    const replay = await scene.replay(scene.contract({ handle: waits as never }))
    await replay.run(await scene.planned(replay))
    assert.deepEqual(await scene.rows('select state::text, mode from onceward.held'), [
      { state: 'waiting', mode: 'replay' },
    ])
    await using _worker = await startWorker(scene)
    await until('it is applied', async () => (await applied(scene)).length === 1)
    assert.deepEqual(await applied(scene), once('replay', 'a'))
    assert.deepEqual(await requested(scene), nothing)
  })

  test('by a campaign on parked rows is read again when it had no id, and its duplicate is recognised', async t => {
    const scene = await Scene.open(t)
    const failure = { policies: { poison: { terminal: 'parked' as const } } }
    await scene.write({ id: 'a' })
    await scene.live(scene.contract({ failure, identity: { id: () => undefined as never } }))
    assert.deepEqual(
      (await listParked(scene.pool, { countMax: 10 })).map(row => [row.messageId, row.state]),
      [[null, 'parked']],
    )
    const replay = await scene.replay(scene.contract({ failure }))
    const id = await scene.planned(replay, { selection: { of: 'parked' } })
    await replay.run(id)
    assert.deepEqual(await scene.outcomes(id), { applied: 1 })
    await scene.write({ id: 'a' })
    await scene.live(scene.contract({ failure }))
    assert.deepEqual(await applied(scene), once('replay', 'a'))
    assert.deepEqual(await scene.rows('select message_id, status::text from onceward.inbox'), [
      { message_id: 'a', status: 'applied' },
    ])
    assert.deepEqual(await scene.rows('select from onceward.held'), [])
  })

  test('is released by audited functions only: an operator can call no internal function', async t => {
    const scene = await Scene.open(t)
    await scene.pool.query('select onceward.create_roles()')
    await scene.write({ id: 'a' })
    await scene.live(scene.contract({ handle: refusing('a') }))
    const people = new People(scene.pool, scene.url)
    try {
      const operator = await people.login(['onceward_operator'], { person: true })
      for (const call of [
        "release_rows(1, '{1}', false)",
        "release_keys(1, '{k}', true)",
        "unblock_keys(1, '{k}')",
      ])
        assert.match(await refusal(operator.pool, `select onceward.${call}`), /^42501/)
      assert.match(await refusal(operator.pool, `update onceward.held set state = 'stored'`), /^42501/)
      const { rows } = await operator.pool.query(`select onceward.release_held('facts', 1, 0, ' ') as answer`)
      assert.deepEqual(rows[0].answer, { ok: false, why: 'Say why it is released.' })
      await releaseHeld(operator.pool, { id: '1', consumer: 'facts', because: 'mended' })
      assert.deepEqual(
        await scene.rows(
          `select outcome, actor from onceward.audit where action like 'work release%' order by seq`,
        ),
        [
          { outcome: 'refused', actor: operator.name },
          { outcome: 'done', actor: operator.name },
        ],
      )
    } finally {
      await people.close()
    }
  })

  test('by a rebuild stays held: its tables are not the live ones', async t => {
    const scene = await Scene.open(t)
    await scene.write({ id: 'a' })
    await scene.live(scene.contract())
    const replay = await scene.replay(scene.contract({ handle: refusing('a') }))
    await replay.run(await scene.planned(replay, { mode: 'rebuild' }))
    const [row] = await listParked(scene.pool, { countMax: 10 })
    assert.deepEqual([row!.mode, row!.generation], ['rebuild', 2])
    await replayAll(scene, 'facts', 'r')
    const { rows } = await showRedrive(scene.pool, 'r', 10)
    assert.match(rows[0]!.why!, /belongs to the tables that campaign 1 rebuilds/)
  })

  test('as a dead letter is marked on the copy that goes to the broker', async t => {
    const scene = await Scene.open(t)
    await scene.write({ id: 'a' })
    const changes: Changes = { handle: () => reject('wrong'), failure: { deadLetter: 'facts.dead' } }
    await scene.passed(scene.contract(changes))
    const replay = await scene.replay(scene.contract(changes))
    const id = await scene.planned(replay)
    await replay.run(id)
    assert.deepEqual(await scene.outcomes(id), { 'dead-lettered': 1 })
    assert.deepEqual(
      await scene.rows(`select message_id, headers ->> 'onceward-campaign' as campaign from onceward.outbox`),
      [{ message_id: 'a', campaign: id }],
    )
  })
})

/** By another person; the database's own check of who approves is tested elsewhere. */
async function approve(scene: Scene): Promise<void> {
  await scene.pool.query(`alter table onceward.campaign_approval disable trigger all`)
  await scene.pool.query(
    `insert into onceward.campaign_approval (campaign_id, plan_digest, requested_by, approved_by, approved_at, expires_at, reason)
     select id, plan_digest, requested_by, 'another', clock_timestamp(), clock_timestamp() + interval '1 hour', 'yes' from onceward.campaign`,
  )
}

async function expire(scene: Scene): Promise<void> {
  await scene.pool.query(`update onceward.campaign_approval set expires_at = clock_timestamp()`)
}
