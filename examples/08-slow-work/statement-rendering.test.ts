import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { describe, it, type TestContext } from 'node:test'
import { runConsumer } from 'onceward'
import { createPool, migrate, queueDepth } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { createDatabase, skipWithout } from '../../packages/onceward/test/services/services.ts'
import { request, send } from './produce.ts'
import type { Settings } from './settings.ts'
import { statementRendering } from './statement-rendering.ts'
import type { Orders } from './test/worker-process.ts'

const quick: Settings = { queue: 'statements', renderMs: 5, leaseMs: 1_500 }
const forEver = { ...quick, renderMs: 2 ** 31 - 1 }

async function openScene(t: TestContext) {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 3 })
  const closing: (() => unknown)[] = []
  t.after(async () => {
    for (const close of closing.reverse()) await close()
    await pool.end()
    await database.drop()
  })
  await migrate(pool)
  await pool.query(readFileSync(new URL('tables.sql', import.meta.url), 'utf8'))
  const rows = async (sql: string) => (await pool.query(sql)).rows
  return {
    pool,
    rows,
    statements: () => rows('select account_id, number, month from statement order by 1, 2'),
    async run(settings = quick) {
      const running = await runConsumer(statementRendering(settings), { databaseUrl: database.url })
      closing.push(() => running.drain())
      return running
    },
    spawn(settings: Settings) {
      const orders: Orders = { settings, databaseUrl: database.url }
      const child = fork(new URL('./test/worker-process.ts', import.meta.url), {
        env: { ...process.env, STATEMENT_ORDERS: JSON.stringify(orders) },
        execArgv: ['--conditions=@onceward/source'],
      })
      closing.push(() => child.kill('SIGKILL'))
      return child
    },
  }
}

const sample = ['a', 'b', 'c'].flatMap(account => [1, 2, 3].map(month => request(account, month)))
const expected = ['a', 'b', 'c'].flatMap(account_id =>
  [1, 2, 3].map(number => ({ account_id, number, month: `2026-0${number}` })),
)

describe('slow work', await skipWithout('postgres'), () => {
  it('is stored and settled at once, and rendered later, once each and in order', async t => {
    const scene = await openScene(t)
    await send(scene.pool, quick.queue, [...sample, ...sample])
    const slow = await scene.run(forEver)
    await until('the queue is empty', async () => (await queueDepth(scene.pool, quick.queue)).messages === 0)
    assert.deepEqual(await scene.statements(), [])
    assert.deepEqual(await scene.rows('select status::text, count(*)::int from onceward.inbox group by 1'), [
      { status: 'stored', count: 9 },
    ])
    slow.leave()
    await slow.finished.catch(() => {})
    await scene.run()
    await until('all are rendered', async () => (await scene.statements()).length === 9)
    assert.deepEqual(await scene.statements(), expected)
  })

  it('is taken over in about one lease when its process is killed', async t => {
    const scene = await openScene(t)
    await send(scene.pool, quick.queue, sample)
    const child = scene.spawn(forEver)
    const claimed = () => scene.rows('select id from onceward.held where lease_until > clock_timestamp()')
    await until(
      'everything is stored',
      async () => (await queueDepth(scene.pool, quick.queue)).messages === 0,
    )
    await until('it renders the first of each account', async () => (await claimed()).length >= 3)
    child.kill('SIGKILL')
    await once(child, 'exit')
    await scene.run()
    await until('all are rendered', async () => (await scene.statements()).length === 9)
    assert.deepEqual(await scene.statements(), expected)
  })
})
