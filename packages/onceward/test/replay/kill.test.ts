import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { describe, test } from 'node:test'
import { verifyCampaign } from '../../src/replay/campaign/steer-campaign.ts'
import type { ReplayPoint } from '../crash/scenarios.ts'
import { skipWithout } from '../services/services.ts'
import { replayDeaths } from './deaths.ts'
import { endLease, runChild } from './kill.ts'
import { facts, Scene } from './scene.ts'

const points = Object.entries(replayDeaths).filter(([, { step }]) => step === 'run') as [
  ReplayPoint,
  (typeof replayDeaths)[ReplayPoint],
][]

describe('a campaign whose process is killed', await skipWithout('postgres'), () => {
  for (const [point, { mode, hits }] of points) {
    for (const hit of hits) {
      test(`at ${point}, passage ${hit}, is resumed and ends exact`, async t => {
        const scene = await Scene.open(t)
        const consumer = scene.contract()
        await scene.write(...facts(100))
        await scene.live(consumer)
        await scene.pool.query(`delete from onceward.inbox where message_id like '%3'`)
        await scene.pool.query(`delete from effect where id like '%3'`)
        await scene.pool.query('delete from onceward.ledger; delete from onceward.outbox')
        const replay = await scene.replay(consumer)
        const id = await scene.planned(replay, { mode })
        const witness = `${scene.path}.witness`
        const orders = { databaseUrl: scene.url, path: scene.path, id, step: 'run' } as const
        assert.equal(await runChild({ ...orders, dieAt: { point, hit, witness } }), 'SIGKILL')
        assert.ok(existsSync(witness))
        await assert.rejects(replay.run(id), /cannot be run: it is running by/)
        await endLease(scene)
        assert.equal(await runChild({ ...orders, dieAt: null }), 0)
        assert.deepEqual(await scene.outcomes(id), { applied: 10, duplicate: 90 })
        const [{ most, count }] = (await scene.rows(
          'select max(times) as most, count(*)::int from effect',
        )) as [{ most: number; count: number }]
        assert.deepEqual([most, count], [1, mode === 'forensic' ? 90 : 100])
        assert.deepEqual(await scene.rows('select count(*)::int as n from onceward.suppressed_effect'), [
          { n: 20 },
        ])
        assert.deepEqual(
          await scene.rows('select from onceward.ledger union all select from onceward.outbox'),
          [],
        )
        assert.equal((await verifyCampaign(scene.pool, id)).complete, true)
      })
    }
  }
})
