import assert from 'node:assert/strict'
import { copyFile } from 'node:fs/promises'
import { describe, type TestContext, test } from 'node:test'
import { type Consumer, defineConsumer, park, projection, type SqlTransaction } from 'onceward'
import { selectionOf } from '../../src/cli/commands/replay/selection-flags.ts'
import { previewText } from '../../src/cli/commands/replay/text.ts'
import { explain } from '../../src/evidence/explain.ts'
import { approveRequest, deleteParked, requestDeletion } from '../../src/operations/parking/delete-parked.ts'
import { previewParked } from '../../src/operations/parking/preview-parked.ts'
import { skipParked } from '../../src/operations/parking/skip-parked.ts'
import {
  approveCampaign,
  campaignFindings,
  verifyCampaign,
} from '../../src/replay/campaign/steer-campaign.ts'
import { People } from '../parking/people.ts'
import { skipWithout } from '../services/services.ts'
import { type Fact, type FactContract, Scene } from './scene.ts'

type Facts = Consumer<Fact, SqlTransaction>

const because = 'fraud: never journal this'
const history: Fact[] = ['a1', 'a2', 'a3'].map(id => ({ id, key: 'a' }))

/** Live has parked a2, and a person has given it up. */
async function givenUp(scene: Scene, changes: Partial<FactContract> = {}): Promise<Facts> {
  await scene.write(...history)
  const usual = scene.contract(changes).handle!
  await scene.live(
    scene.contract({
      ...changes,
      handle: context => (context.message.id === 'a2' ? park('looks like fraud') : usual(context)),
    }),
  )
  await skip(scene)
  return scene.contract(changes)
}

async function skip(scene: Scene): Promise<void> {
  const { rows, digest } = await previewParked(scene.pool, { consumer: 'facts', countMax: 10 })
  assert.equal(rows.length, 1)
  await skipParked(scene.pool, { consumer: 'facts', ids: rows.map(row => row.id), digest, because })
}

/**
 * Gone before the database is: hooks of a test run in the order in which they were added, so it is opened
 * first.
 */
async function openWithPeople(t: TestContext): Promise<{ scene: Scene; people: People }> {
  const closing: (() => Promise<void>)[] = []
  t.after(async () => {
    for (const close of closing) await close()
  })
  const scene = await Scene.open(t)
  const people = new People(scene.pool, scene.url)
  closing.push(() => people.close())
  await scene.pool.query('select onceward.create_roles()')
  return { scene, people }
}

const ofKey = { of: 'log', start: 'first', end: 'next', keys: ['a'] } as const
const booked = (scene: Scene) => scene.rows('select id, times from effect order by id')
const withoutFraud = [
  { id: 'a1', times: 1 },
  { id: 'a3', times: 1 },
]
const withFraud = [...withoutFraud.slice(0, 1), { id: 'a2', times: 1 }, ...withoutFraud.slice(1)]

describe('messages that operators gave up', await skipWithout('postgres'), () => {
  test('stays given up in a repair of its key, which reports it before and afterwards', async t => {
    const scene = await Scene.open(t)
    const replay = await scene.replay(await givenUp(scene))
    const { id } = await replay.create({ mode: 'repair', selection: ofKey, reason: 'a test' })
    const { givenUp: before } = await replay.preview(id)
    assert.deepEqual(before, { messages: 1, included: false })
    assert.match(
      previewText(await replay.preview(id, { dryRun: true })),
      /^1 message of facts was skipped or deleted; it stays skipped \(see "onceward parked closed --consumer facts"\)\.$/m,
    )
    await replay.run(id)
    assert.deepEqual(await booked(scene), withoutFraud)
    assert.deepEqual(await scene.outcomes(id), { duplicate: 2, 'given up': 1 })
    const [finding] = await campaignFindings(scene.pool, id, 10)
    assert.equal(finding!.messageId, 'a2')
    assert.equal(finding!.code, 'given_up')
    assert.match(finding!.reason, /^skipped by \S+ on \d{4}-.*: fraud: never journal this/)
  })

  for (const mode of ['replay', 'backfill', 'forensic'] as const)
    test(`stays given up in mode ${mode}, also where its marker is gone`, async t => {
      const scene = await Scene.open(t)
      const replay = await scene.replay(await givenUp(scene))
      await scene.pool.query(`delete from onceward.inbox where message_id = 'a2'`)
      const id = await scene.planned(replay, { mode })
      await replay.run(id)
      assert.deepEqual(await booked(scene), withoutFraud)
      assert.deepEqual(await scene.outcomes(id), { duplicate: 2, 'given up': 1 })
    })

  test('stays given up where a file contains it, unless an option names it', async t => {
    const scene = await Scene.open(t)
    const replay = await scene.replay(await givenUp(scene))
    const id = await scene.planned(replay, {
      mode: 'repair',
      selection: { of: 'file', path: scene.path, keys: ['a'] },
    })
    await replay.run(id)
    assert.deepEqual(await booked(scene), withoutFraud)
    assert.deepEqual(selectionOf({ from: 'first', to: 'now', key: ['a'], includingSkipped: true }), {
      of: 'log',
      start: 'first',
      end: 'next',
      keys: ['a'],
      includingSkipped: true,
    })
    await assert.rejects(
      replay.create({
        mode: 'repair',
        selection: { of: 'parked', keys: ['a'], includingSkipped: true },
        reason: 'x',
      }),
      /parked messages were not skipped/,
    )
  })

  test('is not in rebuilt tables, and comparing them finds no difference', async t => {
    const scene = await Scene.open(t)
    const replay = await scene.replay(await givenUp(scene))
    const id = await scene.planned(replay, { mode: 'rebuild' })
    await replay.run(id)
    await verifyCampaign(scene.pool, id)
    const compared = await replay.compare(id)
    assert.deepEqual(
      compared.map(({ onlyInLive, onlyInShadow, different }) => [onlyInLive, onlyInShadow, different]),
      [[0, 0, 0]],
    )
    await replay.swap(id, {})
    assert.deepEqual(await booked(scene), withoutFraud)
  })

  test('given up while the tables were rebuilt: the swap is refused with the remedy', async t => {
    const scene = await Scene.open(t)
    await scene.write(...history)
    const usual = scene.contract().handle!
    const careful = scene.contract({
      handle: context => (context.message.id === 'a2' ? park('looks like fraud') : usual(context)),
    })
    await scene.live(careful)
    const replay = await scene.replay(scene.contract())
    const id = await scene.planned(replay, { mode: 'rebuild' })
    await replay.run(id)
    await verifyCampaign(scene.pool, id)
    await skip(scene)
    await assert.rejects(
      replay.swap(id, { accept: { effect: 'as expected' } }),
      /1 message that operators gave up is, or may be, in the rebuilt tables.*a2/s,
    )
    assert.deepEqual(await booked(scene), withoutFraud)
  })

  test('keeps its marker when a swap is rolled back', async t => {
    const scene = await Scene.open(t)
    await scene.write(...history.slice(0, 1))
    const consumer = scene.contract()
    await scene.live(consumer)
    const replay = await scene.replay(consumer)
    const id = await scene.planned(replay, { mode: 'rebuild' })
    await replay.run(id)
    await verifyCampaign(scene.pool, id)
    await replay.swap(id, {})
    await scene.write(...history.slice(1))
    const usual = consumer.handle!
    await scene.live(
      scene.contract({
        handle: context => (context.message.id === 'a2' ? park('looks like fraud') : usual(context)),
      }),
    )
    await skip(scene)
    await replay.rollBack(id)
    assert.deepEqual(
      await scene.rows(`select message_id, status::text from onceward.inbox where message_id = 'a2'`),
      [{ message_id: 'a2', status: 'ignored' }],
    )
  })

  test('stays erased where it was deleted, and where no id could be read', async t => {
    const { scene, people } = await openWithPeople(t)
    await scene.write(...history)
    const nameless = {
      id: (fact: Fact) => (fact.id === 'a3' ? undefined : fact.id),
      aggregateId: (fact: Fact) => fact.key,
    }
    await scene.live(
      scene.contract({
        identity: nameless as never,
        handle: context => (context.message.id === 'a2' ? park('no') : scene.contract().handle!(context)),
      }),
    )
    const ann = await people.login(['onceward_operator'], { person: true })
    const bob = await people.login(['onceward_approver'], { person: true })
    const { rows, digest } = await previewParked(scene.pool, { consumer: 'facts', countMax: 10 })
    const ids = rows.map(row => row.id)
    assert.equal(ids.length, 2)
    const request = await requestDeletion(ann.pool, { consumer: 'facts', ids, digest, because }, 3_600)
    await approveRequest(bob.pool, request.id, digest, 'looked at it')
    await deleteParked(ann.pool, { id: request.id, consumer: 'facts' })
    const replay = await scene.replay(scene.contract())
    const id = await scene.planned(replay, { mode: 'repair', selection: ofKey })
    await replay.run(id)
    assert.deepEqual(await booked(scene), withoutFraud.slice(0, 1))
    assert.deepEqual(await scene.outcomes(id), { duplicate: 1, 'given up': 2 })
  })

  test('stays given up with dedup by version, without markers', async t => {
    const scene = await Scene.open(t)
    await scene.pool.query('create table state (id text primary key, version bigint not null, key text)')
    const consumer = (reads: boolean) =>
      defineConsumer<Fact, SqlTransaction>({
        name: 'facts',
        owner: 'tests',
        risk: 'projection',
        source: scene.contract().source,
        dedup: 'version',
        identity: { id: fact => fact.id },
        effect: {
          apply: projection<Fact>({
            table: 'state',
            key: { id: 'id' },
            version: { version: ({ id }) => (reads || id !== 'a2' ? Number(id.slice(1)) : 'none') },
            columns: { key: 'key' },
            gap: 'skips allowed',
          }),
        },
        replay: { modes: ['replay', 'rebuild'] },
      })
    await scene.write(...history)
    await scene.live(consumer(false))
    await skip(scene)
    const replay = await scene.replay(consumer(true))
    for (const mode of ['replay', 'rebuild'] as const) {
      const id = await scene.planned(replay, { mode })
      await replay.run(id)
      assert.equal((await scene.outcomes(id))['given up'], 1, mode)
      if (mode !== 'rebuild') continue
      await verifyCampaign(scene.pool, id)
      await replay.swap(id, {})
    }
    assert.deepEqual(await scene.rows('select id from state order by id'), [{ id: 'a1' }, { id: 'a3' }])
  })

  for (const mode of ['repair', 'replay', 'backfill'] as const)
    test(`is applied by a ${mode} that names it and that another person approved, and then counts as applied`, async t => {
      const { scene, people } = await openWithPeople(t)
      const replay = await scene.replay(await givenUp(scene))
      const selection = mode === 'repair' ? ofKey : ({ of: 'log', start: 'first', end: 'next' } as const)
      const { id, needsApproval } = await replay.create({
        mode,
        selection: { ...selection, includingSkipped: true },
        reason: 'it was no fraud',
      })
      assert.equal(needsApproval, true)
      const { campaign, givenUp: before } = await replay.preview(id)
      assert.deepEqual(before, { messages: 1, included: true })
      assert.match(
        previewText(await replay.preview(id, { dryRun: true })),
        /^WARNING: 1 message of facts was skipped or deleted; where the selection covers it, it WILL be applied.*\nIt needs approval/m,
      )
      await assert.rejects(replay.run(id), /needs an unexpired approval/)
      const bob = await people.login(['onceward_approver'], { person: true })
      await approveCampaign(bob.pool, id, { because: 'asked the customer', planDigest: campaign.planDigest! })
      await replay.run(id)
      assert.deepEqual(await booked(scene), withFraud)
      const audit = await scene.rows<{ action: string; subject: string }>(
        `select action, subject from onceward.audit where action = 'parked reopen'`,
      )
      assert.deepEqual(audit, [{ action: 'parked reopen', subject: 'a2' }])
      const [story] = (await explain(scene.pool, { by: 'message', id: 'a2' })).stories
      assert.match(
        story!.timeline.map(event => `${event.what}: ${event.text}`).join('\n'),
        new RegExp(`skipped: fraud: never journal this.*campaign ${id} included it`),
      )
      const rebuild = await scene.planned(replay, { mode: 'rebuild' })
      await replay.run(rebuild)
      await verifyCampaign(scene.pool, rebuild)
      await replay.swap(rebuild, {})
      assert.deepEqual(await booked(scene), withFraud)
    })

  test('other content that was given up under the same id stays given up when the message is applied', async t => {
    const { scene, people } = await openWithPeople(t)
    const forged = { id: 'a2', key: 'a', note: 'forged' }
    await scene.write(...history)
    const taken = `${scene.path}.taken`
    await copyFile(scene.path, taken)
    await scene.write(forged)
    const usual = scene.contract().handle!
    await scene.live(
      scene.contract({
        handle: context => (context.message.id === 'a2' ? park('looks like fraud') : usual(context)),
      }),
    )
    const { rows, digest } = await previewParked(scene.pool, { consumer: 'facts', countMax: 10 })
    assert.equal(rows.length, 2)
    await skipParked(scene.pool, { consumer: 'facts', ids: rows.map(row => row.id), digest, because })
    const replay = await scene.replay(scene.contract())
    const selection = { of: 'file', path: taken, keys: ['a'], includingSkipped: true } as const
    const id = await scene.planned(replay, { mode: 'repair', selection })
    const bob = await people.login(['onceward_approver'], { person: true })
    const { campaign } = await replay.preview(id)
    await approveCampaign(bob.pool, id, { because: 'no fraud', planDigest: campaign.planDigest! })
    await replay.run(id)
    assert.deepEqual(await booked(scene), withFraud)
    const reopened = `select convert_from(body, 'utf8') like '%forged%' as forged, reopened_by::text as by
      from onceward.closed_held order by 1`
    assert.deepEqual(await scene.rows(reopened), [
      { forged: false, by: id },
      { forged: true, by: null },
    ])
  })

  test('is in tables of a rebuild that was approved to include it, until they are rolled back', async t => {
    const { scene, people } = await openWithPeople(t)
    const replay = await scene.replay(await givenUp(scene))
    const id = await scene.planned(replay, {
      mode: 'rebuild',
      selection: { of: 'log', start: 'first', end: 'next', includingSkipped: true },
    })
    const bob = await people.login(['onceward_approver'], { person: true })
    const { campaign } = await replay.preview(id)
    await approveCampaign(bob.pool, id, { because: 'no fraud', planDigest: campaign.planDigest! })
    await replay.run(id)
    await verifyCampaign(scene.pool, id)
    await replay.swap(id, { accept: { effect: 'a2 is no fraud' } })
    assert.deepEqual(await booked(scene), withFraud)
    await replay.rollBack(id)
    const again = await scene.planned(replay, { mode: 'repair', selection: ofKey })
    await replay.run(again)
    assert.deepEqual(await booked(scene), withoutFraud)
  })

  test('a copy that is redelivered live under its id is a duplicate', async t => {
    const scene = await Scene.open(t)
    const consumer = await givenUp(scene)
    await scene.write(history[1]!)
    await scene.live(consumer)
    assert.deepEqual(await booked(scene), withoutFraud)
    const [marker] = await scene.rows<{ because: string }>(
      `select reason as because from onceward.inbox where message_id = 'a2'`,
    )
    assert.match(marker!.because, /^skipped by \S+: fraud: never journal this$/)
  })
})
