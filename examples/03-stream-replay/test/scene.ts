import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { connect } from 'amqplib'
import { type Mode, type Running, realEnvironment, runConsumer } from 'onceward'
import { createPool, migrate } from 'onceward/postgres'
import { type CrashPoint, until } from 'onceward/testing'
import {
  createDatabase,
  rabbitmqStreamUrl,
  rabbitmqUrl,
} from '../../../packages/onceward/test/services/services.ts'
import type { ParcelScanned } from '../messages.ts'
import { startNotifier } from '../notifier.ts'
import { parcelTracking } from '../parcel-tracking.ts'
import { createStream, send } from '../produce.ts'
import type { Settings } from '../settings.ts'
import type { Orders } from './consumer-process.ts'

/**
 * A database, a stream and a notifier of one test, with everything it may ask of them; gone when the test
 * ends.
 */
export async function openScene(t: TestContext) {
  const url = await rabbitmqUrl()
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 4 })
  const notifier = await startNotifier()
  const stream = `parcel-scans-${randomBytes(4).toString('hex')}`
  const closing: (() => unknown)[] = []
  t.after(async () => {
    for (const close of closing.reverse()) await close()
    notifier.close()
    await removeStream(url, stream)
    await pool.end()
    await database.drop()
  })
  const settings: Settings = { stream, notifierUrl: notifier.url, generation: 1 }
  const access = { databaseUrl: database.url, rabbitmqStreamUrl: (await rabbitmqStreamUrl())! }
  await migrate(pool)
  await pool.query(readFileSync(new URL('../tables.sql', import.meta.url), 'utf8'))
  await createStream(url, stream)
  const rows = async (sql: string, values: unknown[] = []) => (await pool.query(sql, values)).rows
  /** A publisher does not learn the offset of the last record; the first generation finds it. */
  const decided = async (generation: number) => {
    const [found] = await rows(
      `select count(*)::int from onceward.inbox join onceward.consumer on id = consumer_id where generation = $1`,
      [generation],
    )
    return found.count as number
  }

  return {
    notifier,
    rows,
    send: (scans: readonly ParcelScanned[]) => send(url, stream, scans),
    /** Where a generation reads on, as the store has it. */
    async position(generation = 1): Promise<number | null> {
      const [row] = await rows(
        'select next from onceward.checkpoint join onceward.consumer on id = consumer_id where generation = $1',
        [generation],
      )
      return row?.next == null ? null : Number(row.next)
    },

    async run({ mode = 'live' as Mode, generation = 1 } = {}): Promise<Running> {
      const running = await runConsumer(parcelTracking({ ...settings, generation }), {
        ...access,
        mode,
        env: realEnvironment(),
      })
      closing.push(() => running.drain())
      return running
    },

    /** A process of its own that dies at a passage of the point. */
    async dies(dieAt: CrashPoint, hit: number): Promise<NodeJS.Signals | null> {
      const orders: Orders = { settings, ...access, dieAt, hit }
      const child = fork(new URL('./consumer-process.ts', import.meta.url), {
        env: { ...process.env, PARCEL_ORDERS: JSON.stringify(orders) },
      })
      closing.push(() => child.kill('SIGKILL'))
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      return child.signalCode
    },

    async decidedAll(scans: readonly ParcelScanned[], generation = 1): Promise<void> {
      const different = new Set(scans.map(one => one.scanId)).size
      await until(
        `generation ${generation} has decided ${different} scans`,
        async () => (await decided(generation)) === different,
      )
    },
  }
}

export type Scene = Awaited<ReturnType<typeof openScene>>

async function removeStream(url: string, stream: string): Promise<void> {
  const connection = await connect(url)
  const channel = await connection.createChannel()
  await channel.deleteQueue(stream)
  await connection.close()
}
