import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { until } from 'onceward/testing'
import { skipWithout } from '../services/services.ts'
import type { ProcessOrders } from './projection-process.ts'
import { type CaseFact, fact, ProjectionScene } from './projection-scene.ts'

const keys = ['a', 'b', 'c', 'd', 'e']
const facts = [1, 2, 3, 4, 5, 6, 7, 8].flatMap(version => keys.map(key => fact(key, version)))
const ids = facts.map(({ id }) => id).sort()

describe('a projection whose process is killed', {
  concurrency: 3,
  ...(await skipWithout('postgres')),
}, () => {
  for (const dedup of ['marker', 'version'] as const) {
    for (const killAt of ['received', 'claimed', 'applied', 'concluded', 'committed', 'settled'] as const) {
      it(`at batch.${killAt} under dedup '${dedup}' moves each version once`, async () => {
        await using env = await openEnvironment({ dedup, waits: false, ordered: true })
        await env.publish(facts)
        const dying = env.spawn({ killAt: `batch.${killAt}`, hit: 2 })
        assert.equal(await dying.ended(), 'SIGKILL')
        const next = env.spawn()
        await env.moved(ids)
        await next.stop()
        assert.deepEqual(await env.moves(), ids)
        assert.deepEqual(
          await env.versions(),
          keys.map(key => `${key} 8`),
        )
      })
    }
  }

  for (const killAt of ['batch.committed', 'work.leased', 'work.finished', 'work.committed'] as const) {
    it(`at ${killAt} while versions wait loses none of them, and keeps their order`, async () => {
      await using env = await openEnvironment({ dedup: 'marker', waits: true, ordered: false })
      await env.publish(facts.filter(({ version }) => version !== 1))
      const storing = env.spawn()
      await until('all wait', async () => (await env.held()) === facts.length - keys.length)
      await storing.stop()
      await env.publish(facts.filter(({ version }) => version === 1))
      const dying = env.spawn({ killAt })
      assert.equal(await dying.ended(), 'SIGKILL')
      const next = env.spawn()
      await env.moved(ids)
      await until('nothing waits', async () => (await env.held()) === 0)
      await next.stop()
      assert.deepEqual(await env.moves(), ids)
      assert.deepEqual(await env.inOrder(), [])
    })
  }

  for (const dedup of ['marker', 'version'] as const) {
    it(`or that runs in two processes: copies under dedup '${dedup}' move each version once`, async () => {
      await using env = await openEnvironment({ dedup, waits: false, ordered: false })
      const twins = [env.spawn(), env.spawn()]
      const renamed = facts.map(one => ({ ...one, id: `${one.id} again` }))
      for (let round = 0; round < 4; round++) await env.publish(round % 2 ? renamed : facts)
      await until('nothing is left', async () => (await env.depth()) === 0)
      for (const twin of twins) await twin.stop()
      const moves = await env.moves()
      assert.equal(new Set(moves).size, moves.length)
      assert.deepEqual(
        await env.versions(),
        keys.map(key => `${key} 8`),
      )
    })
  }
})

async function openEnvironment(given: Pick<ProcessOrders, 'dedup' | 'waits' | 'ordered'>) {
  const scene = await ProjectionScene.open()
  const name = 'killed'
  await scene.pool.query(`create table case_view (case_id text primary key, version bigint not null);
    create table moves (place bigserial, case_id text, version bigint)`)
  const children: ChildProcess[] = []
  const texts = async (sql: string) => (await scene.pool.query(sql)).rows.map(({ text }) => text as string)
  const moves = () => texts(`select case_id || '-v' || version as text from moves order by 1`)
  return {
    moves,
    publish: (some: readonly CaseFact[]) => scene.publish(name, ...some),
    versions: () => texts(`select case_id || ' ' || version as text from case_view order by 1`),
    inOrder: () =>
      texts(`select later.case_id as text from moves later join moves earlier using (case_id)
        where later.version > earlier.version and later.place < earlier.place`),
    held: async () => Number((await scene.pool.query('select count(*) from onceward.held')).rows[0].count),
    depth: async () =>
      Number((await scene.pool.query('select count(*) from onceward.queue_message')).rows[0].count),
    moved: (expected: readonly string[]) =>
      until('every version moved', async () => (await moves()).length >= expected.length, {
        deadlineMs: 60_000,
      }),
    spawn(more: Partial<ProcessOrders> = {}) {
      const orders: ProcessOrders = { url: scene.url, name, ...given, ...more }
      const script = fileURLToPath(new URL('projection-process.ts', import.meta.url))
      const child = spawn(process.execPath, ['--conditions=@onceward/source', script], {
        env: { ...process.env, PROJECTION_ORDERS: JSON.stringify(orders) },
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      })
      children.push(child)
      const running = once(child, 'message')
      let end: string | null = null
      child.once('close', (code, signal) => {
        end = String(signal ?? code)
      })
      const ended = async () => {
        await until('the process ended', () => end !== null)
        return end
      }
      return {
        ended,
        async stop() {
          await running
          child.kill('SIGTERM')
          assert.equal(await ended(), '0')
        },
      }
    },
    async [Symbol.asyncDispose]() {
      for (const child of children) child.kill('SIGKILL')
      await scene.close()
    },
  }
}
