import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Running, runConsumer } from 'onceward'
import { createPool, createQueue, migrate, queueDepth } from 'onceward/postgres'
import { type CrashPoint, until } from 'onceward/testing'
import { createDatabase } from '../../../packages/onceward/test/services/services.ts'
import type { RequestAnswered } from '../messages.ts'
import { send } from '../produce.ts'
import type { Settings } from '../settings.ts'
import { slaWindows } from '../sla-windows.ts'
import type { Orders } from './consumer-process.ts'

/** A database and a queue of one test, with everything it may ask of them; gone when the test ends. */
export async function openScene(t: TestContext) {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 4 })
  const closing: (() => unknown)[] = []
  t.after(async () => {
    for (const close of closing.reverse()) await close()
    await pool.end()
    await database.drop()
  })
  const settings: Settings = { queue: 'answers', leaseMs: 30_000 }
  await migrate(pool)
  await pool.query(readFileSync(new URL('../tables.sql', import.meta.url), 'utf8'))
  await createQueue(pool, settings.queue)

  return {
    rows: async (sql: string) => (await pool.query(sql)).rows,
    send: (...events: RequestAnswered[]) => send(pool, settings.queue, events),
    empty: () =>
      until('the queue is empty', async () => (await queueDepth(pool, settings.queue)).messages === 0),

    async run(): Promise<Running> {
      const running = await runConsumer(slaWindows(settings), { databaseUrl: database.url })
      closing.push(() => running.drain())
      return running
    },

    /** The program `drift.ts`, as people run it. */
    async drift(): Promise<string> {
      const script = fileURLToPath(new URL('../drift.ts', import.meta.url))
      const { stdout } = await promisify(execFile)(
        process.execPath,
        ['--conditions=@onceward/source', script],
        {
          env: { ...process.env, ONCEWARD_DATABASE_URL: database.url },
        },
      )
      return stdout.trim()
    },

    /** A process of its own that dies at the point. */
    async dies(dieAt: CrashPoint): Promise<NodeJS.Signals | null> {
      const orders: Orders = {
        // Short, so its work is taken over soon.
        settings: { ...settings, leaseMs: 1_000 },
        databaseUrl: database.url,
        dieAt,
      }
      const child = fork(new URL('./consumer-process.ts', import.meta.url), {
        env: { ...process.env, SLA_ORDERS: JSON.stringify(orders) },
      })
      closing.push(() => child.kill('SIGKILL'))
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      return child.signalCode
    },
  }
}

export type Scene = Awaited<ReturnType<typeof openScene>>
