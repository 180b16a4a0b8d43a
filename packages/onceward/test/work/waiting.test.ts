import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type BatchItem, type DeclaredEffect, type SqlTransaction, Verdict } from 'onceward'
import { until } from 'onceward/testing'
import { lockWaitingKeys, releaseWaiting } from '../../src/drivers/postgres/work/release-waiting.ts'
import { skipWithout } from '../services/services.ts'
import { type Job, Scene } from './scene.ts'

/**
 * Applies the versions of a key in order; what comes too early waits, what waited in vain is written down as
 * late.
 */
function inOrder(name: string, withinMs: number): DeclaredEffect<Job> {
  const apply = async (item: BatchItem<Job>, tx: SqlTransaction) => {
    const { id, key, version } = item.message
    await lockWaitingKeys(tx, [key!])
    const { rows } = await tx.query<{ version: number }>(
      'select coalesce(max(version), 0) as version from seen where consumer = $1 and key = $2',
      [name, key],
    )
    if (version! > rows[0]!.version + 1 && item.waited !== 'too late')
      return Verdict.wait('a version is missing', { key: key!, version: BigInt(version!), withinMs })
    await tx.query('insert into seen (consumer, key, version, id, waited) values ($1, $2, $3, $4, $5)', [
      name,
      key,
      version,
      id,
      item.waited,
    ])
    await releaseWaiting(tx, [{ key: key!, version: BigInt(version! + 1) }])
    return undefined
  }
  return {
    kind: 'test projection',
    mayWait: true,
    problems: () => [],
    verify: async () => {},
    async apply({ batch, tx }) {
      const verdicts = new Map<BatchItem<Job>, Verdict>()
      for (const item of batch) {
        const verdict = await apply(item, tx)
        if (verdict !== undefined) verdicts.set(item, verdict)
      }
      return verdicts
    },
  }
}

describe('work that waits for its turn', await skipWithout('postgres'), () => {
  let scene: Scene
  before(async () => {
    scene = await Scene.open()
    await scene.pool.query(
      'create table seen (place bigserial, consumer text, key text, version integer, id text, waited text)',
    )
  })
  after(() => scene.close())

  const seen = async (name: string) =>
    (
      await scene.pool.query(
        `select key || version || coalesce(' ' || waited, '') as what from seen where consumer = $1 order by place`,
        [name],
      )
    ).rows.map(row => row.what)

  for (const mode of ['transactional', 'stored'] as const) {
    const name = `gap_${mode}`
    it(`is released in order of version by the missing version (${mode})`, async () => {
      const changes = { inbox: { mode }, effect: { apply: inOrder(name, 3_600_000) } }
      await scene.publish(name, ...[4, 3, 2].map(version => ({ id: `k${version}`, key: 'k', version })))
      const running = await scene.start(name, changes)
      await until('three wait', async () => {
        const held = await scene.held(name)
        return held.length === 3 && held.every(row => row.state === 'waiting')
      })
      assert.deepEqual(await scene.markers(name), ['k2 waiting', 'k3 waiting', 'k4 waiting'])
      await scene.publish(name, { id: 'other', key: 'o', version: 1 }, { id: 'k1', key: 'k', version: 1 })
      await until('nobody waits', async () => (await scene.held(name)).length === 0)
      await running.drain()
      const what = await seen(name)
      assert.deepEqual(
        what.filter(one => one.startsWith('k')),
        ['k1', 'k2 released', 'k3 released', 'k4 released'],
      )
      assert.deepEqual(
        (await scene.markers(name)).filter(marker => !marker.endsWith('applied')),
        [],
      )
    })
  }

  it('is applied at its deadline, and learns that it is too late', async () => {
    const changes = { inbox: { mode: 'transactional' as const }, effect: { apply: inOrder('late', 50) } }
    await scene.publish('late', { id: 'k2', key: 'k', version: 2 })
    const running = await scene.start('late', changes)
    await until('it is taken out', async () => (await seen('late')).length === 1)
    await running.drain()
    assert.deepEqual(await seen('late'), ['k2 too late'])
    assert.deepEqual(await scene.held('late'), [])
  })
})
