import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { defineConsumer, runConsumer } from 'onceward'
import { createPool, createQueue, migrate, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { Gateway } from '../effects/gateway.ts'
import { createDatabase } from '../services/services.ts'
import { captureContract, type Payment, tables } from './capture.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
export const contractFile = fileURLToPath(new URL('./capture-consumer.ts', import.meta.url))

export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** A database with the tables of the capture consumer, a gateway, and the real command line. */
export async function openEvidence() {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 4 })
  await migrate(pool)
  await pool.query(tables)
  for (const queue of ['payment_capture', 'payment_audit', 'receipts']) await createQueue(pool, queue)
  const gateway = await new Gateway().open()
  const capture = defineConsumer(captureContract(gateway.url))
  const count = async (text: string, values: unknown[] = []) =>
    (await pool.query(`select count(*)::integer as n from ${text}`, values)).rows[0].n as number
  const run = (...args: string[]) =>
    new Promise<Ran>(resolve => {
      const env = { ...process.env, ONCEWARD_DATABASE_URL: database.url, GATEWAY_URL: gateway.url }
      const node = ['--conditions=@onceward/source', main, ...args]
      execFile(process.execPath, node, { env }, (error, stdout, stderr) =>
        resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
      )
    })
  return {
    url: database.url,
    pool,
    gateway,
    capture,
    count,
    run,
    json: async (...args: string[]) => {
      const { code, stdout } = await run(...args, '--json')
      return { exit: code, ...JSON.parse(stdout) }
    },
    send: (queue: string, ...payments: readonly Payment[]) =>
      publish(
        pool,
        queue,
        payments.map(body => ({ body })),
      ),
    start: () => runConsumer(capture, { databaseUrl: database.url }),
    settled: (queue: string) =>
      until('everything is settled', async () => {
        const of = 'onceward.queue_message where queue_id = (select id from onceward.queue where name = $1)'
        return (await count(of, [queue])) === 0
      }),
    async close() {
      gateway.close()
      await pool.end()
      await database.drop()
    },
  }
}

export type Evidence = Awaited<ReturnType<typeof openEvidence>>
