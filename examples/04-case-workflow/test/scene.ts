import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { type Consumer, type Running, runConsumer, type SqlTransaction } from 'onceward'
import { createPool, createQueue, migrate, queueDepth } from 'onceward/postgres'
import { type CrashPoint, until } from 'onceward/testing'
import { createDatabase } from '../../../packages/onceward/test/services/services.ts'
import { caseWorkflow } from '../case-workflow.ts'
import { send } from '../produce.ts'
import type { Settings } from '../settings.ts'
import { supervisorAlerts } from '../supervisor-alerts.ts'
import type { Orders } from './consumer-process.ts'

/** A database and queues of one test, with everything it may ask of them; gone when the test ends. */
export async function openScene(t: TestContext) {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 4 })
  const closing: (() => unknown)[] = []
  t.after(async () => {
    for (const close of closing.reverse()) await close()
    await pool.end()
    await database.drop()
  })
  const settings: Settings = { queue: 'steps', moveQueue: 'moves', leaseMs: 30_000 }
  await migrate(pool)
  await pool.query(readFileSync(new URL('../tables.sql', import.meta.url), 'utf8'))
  for (const queue of [settings.queue, settings.moveQueue]) await createQueue(pool, queue)

  const run = async <M>(consumer: Consumer<M, SqlTransaction>): Promise<Running> => {
    const running = await runConsumer(consumer, { databaseUrl: database.url })
    closing.push(() => running.drain())
    return running
  }
  return {
    rows: async (sql: string) => (await pool.query(sql)).rows,
    send: (...steps: object[]) => send(pool, settings.queue, steps),
    run: () => run(caseWorkflow(settings)),
    runAlerts: () => run(supervisorAlerts(settings)),
    empty: (queue: 'queue' | 'moveQueue' = 'queue') =>
      until(`${queue} is empty`, async () => (await queueDepth(pool, settings[queue])).messages === 0),

    /** A process of its own that dies at the point. */
    async dies(dieAt: CrashPoint): Promise<NodeJS.Signals | null> {
      const orders: Orders = {
        // Short, so its work is taken over soon.
        settings: { ...settings, leaseMs: 1_000 },
        databaseUrl: database.url,
        dieAt,
      }
      const child = fork(new URL('./consumer-process.ts', import.meta.url), {
        env: { ...process.env, CASE_ORDERS: JSON.stringify(orders) },
      })
      closing.push(() => child.kill('SIGKILL'))
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      return child.signalCode
    },
  }
}

export type Scene = Awaited<ReturnType<typeof openScene>>
