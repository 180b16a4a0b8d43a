import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { describe, test } from 'node:test'
import type { SqlTransaction } from 'onceward'
import type { DecidedMessage } from '../../src/ports/campaign-session.ts'
import type { LogRecord } from '../../src/ports/log-record.ts'
import { CampaignJournal } from '../../src/replay/campaign/campaign-journal.ts'
import { movePlaces } from '../../src/replay/campaign/campaign-places.ts'
import { CampaignReader } from '../../src/replay/campaign/campaign-reader.ts'
import { skipWithout } from '../services/services.ts'
import { endLease, runChild } from './kill.ts'
import { facts, Scene } from './scene.ts'

describe('batches of a campaign that end ahead of an earlier one', await skipWithout('postgres'), () => {
  for (const mode of ['replay', 'forensic'] as const) {
    test(`are counted once although the process is killed before it, in ${mode}`, async t => {
      const scene = await Scene.open(t)
      const consumer = scene.contract()
      await scene.write(...facts(100))
      await scene.live(consumer)
      await scene.pool.query(`delete from onceward.inbox where message_id like '%3'`)
      await scene.pool.query(`delete from effect where id like '%3'`)
      const id = await scene.planned(await scene.replay(consumer), { mode })
      const orders = { databaseUrl: scene.url, path: scene.path, id, step: 'run' } as const
      const holder = await scene.pool.connect()
      try {
        // The first batch waits for this marker, those behind it do not.
        await holder.query(
          `begin; insert into onceward.inbox (consumer_id, run_id, status, message_id, digest)
           select id, 1, 'applied', 'f00003', sha256('x') from onceward.consumer`,
        )
        const witness = `${scene.path}.witness`
        const dieAt = { point: 'batch.committed', hit: 4, witness } as const
        // Two at a time: beside the one that waits they end one after the other, with no hole between them.
        assert.equal(await runChild({ ...orders, inFlightMax: 2, dieAt }), 'SIGKILL')
        assert.ok(existsSync(witness))
      } finally {
        await holder.query('rollback')
        holder.release()
      }
      const stands = 'select next, ahead::text from onceward.campaign_partition'
      const [died] = (await scene.rows(stands)) as [{ next: string; ahead: string }]
      assert.equal(died.next, '0', 'the first batch is not decided')
      assert.match(died.ahead, /^\{\[\d+,\d+\)\}$/, 'what was decided ahead hangs together')
      const before = await scene.outcomes(id)
      assert.deepEqual([before.applied! > 3, before.duplicate! > 35], [true, true], 'and is counted')
      await endLease(scene)
      assert.equal(await runChild({ ...orders, dieAt: null }), 0)
      assert.deepEqual(await scene.outcomes(id), { applied: 10, duplicate: 90 })
      const [{ ahead }] = (await scene.rows(stands)) as [{ ahead: string }]
      assert.equal(ahead, '{}', 'nothing is ahead of the end')
    })
  }

  test('and one whose commit was not confirmed count by their positions, in any order', async t => {
    const scene = await Scene.open(t)
    await scene.pool.query(
      `insert into onceward.campaign_partition (campaign_id, partition, epoch, run_id, incarnation, next)
       values (1, 'p', 1, 1, 'log', '0'), (1, 'q', 1, 1, 'log', '0')`,
    )
    const commit = async (next: { p?: string; q?: string }, ...messages: readonly DecidedMessage[]) => {
      const journal = new CampaignJournal(
        { id: '1', selection: { of: 'log', start: 'first', end: 'next' } },
        false,
      )
      journal.decided(messages)
      const partitions = [
        ...new Set(messages.map(({ received }) => received.delivery.partition as 'p' | 'q')),
      ]
      const progress = partitions.map(partition => ({
        epoch: 1,
        incarnation: 'log',
        from: null,
        partition,
        next: next[partition] ?? null,
      }))
      const tx = scene.pool as unknown as SqlTransaction
      await journal.write(tx, movePlaces({ campaignId: '1', runId: 1, progress }))
      return scene.outcomes('1')
    }
    const stands = () =>
      scene.rows('select partition, next, ahead::text from onceward.campaign_partition order by partition')
    assert.deepEqual(await commit({ p: '2' }, at(0, 'applied'), at(1, 'applied')), { applied: 2 })
    assert.deepEqual(await commit({ p: '2' }, at(0, 'duplicate'), at(1, 'duplicate')), { applied: 2 })
    assert.deepEqual(await commit({ p: '1' }, at(0, 'duplicate')), { applied: 2 }, 'its halves')
    assert.deepEqual(await commit({ p: '2' }, at(1, 'duplicate')), { applied: 2 })
    await commit({}, at(6, 'applied'), at(4, 'applied'), at(5, 'retry'))
    assert.deepEqual(await commit({}, at(4, 'duplicate'), at(6, 'duplicate')), { applied: 4 })
    assert.deepEqual(await commit({}, at(5, 'parked'), at(6, 'duplicate')), { applied: 4, parked: 1 })
    const two = [at(0, 'applied', 'q'), at(3, 'applied'), at(6, 'applied', 'q')]
    assert.deepEqual(await commit({ q: '1' }, ...two), { applied: 7, parked: 1 })
    assert.deepEqual(await stands(), [
      { partition: 'p', next: '2', ahead: '{[3,7)}' },
      { partition: 'q', next: '1', ahead: '{[6,7)}' },
    ])
    assert.deepEqual(await commit({ p: '7', q: '7' }, at(2, 'applied'), ...two), { applied: 8, parked: 1 })
    assert.deepEqual(await stands(), [
      { partition: 'p', next: '7', ahead: '{}' },
      { partition: 'q', next: '7', ahead: '{}' },
    ])
  })
})

test('records of a campaign are contiguous, with any unselected records between them', async () => {
  const log = {
    origin: 'log',
    read: async (_: string, { next }: { next: string }) => {
      const records = Array.from({ length: 10 }, (_, n) => record(Number(next) + n))
      const end = String(Number(next) + 10)
      return { kind: 'records', records, next: end, atEnd: false, behind: null } as const
    },
    survey: async () => [],
    close: async () => {},
  }
  const range = { partition: 'p', incarnation: 'log', from: '0', to: '40' }
  const selects = async ({ at }: LogRecord) => [3, 4, 17, 38].includes(Number(at))
  const reader = new CampaignReader(log, { ranges: [range], throttle: null, selects })
  const stretches: (readonly [string, string])[] = []
  for (let next = '0'; next !== '40'; ) {
    const page = await reader.read('p', { incarnation: 'log', next })
    if (page.kind !== 'records') throw new Error(page.kind)
    // As the subscription does it: what nobody is shown belongs to the record before.
    page.records.forEach(({ at, since = at, next: after }, n) => {
      stretches.push([since, n === page.records.length - 1 ? page.next : after])
    })
    next = page.next
  }
  assert.deepEqual(stretches, [
    ['0', '4'],
    ['4', '10'],
    ['10', '20'],
    ['20', '40'],
  ])
})

const record = (at: number): LogRecord => ({
  body: Buffer.from('{}'),
  headers: {},
  properties: {},
  key: null,
  at: String(at),
  next: String(at + 1),
  position: `p@${at}`,
  redelivered: false,
})

const at = (place: number, outcome: string, partition = 'p'): DecidedMessage => ({
  received: {
    id: `m${place}`,
    digest: Buffer.alloc(33),
    delivery: {
      position: `${partition}@${place}`,
      partition,
      place: { incarnation: 'log', epoch: 1, at: String(place), next: String(place + 1) },
    },
  },
  decision: { outcome, code: '', reason: '' },
})
