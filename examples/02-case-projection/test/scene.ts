import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { type Mode, type Running, realEnvironment, runConsumer } from 'onceward'
import { createPool, migrate } from 'onceward/postgres'
import { type CrashPoint, until } from 'onceward/testing'
import { openKafka, randomName } from '../../../packages/onceward/test/kafka/fixture.ts'
import { createDatabase } from '../../../packages/onceward/test/services/services.ts'
import { caseProjection } from '../case-projection.ts'
import { send } from '../produce.ts'
import type { Settings } from '../settings.ts'
import type { Orders } from './consumer-process.ts'

/** A database and topics of one test, with everything it may ask of them; gone when the test ends. */
export async function openScene(t: TestContext) {
  const kafka = await openKafka(t)
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 4 })
  const closing: (() => unknown)[] = []
  t.after(async () => {
    for (const close of closing.reverse()) await close()
    await pool.end()
    await database.drop()
  })
  const topic = await kafka.createTopic({ name: randomName('case-events'), partitions: 3 })
  const deadLetters = await kafka.createTopic({ name: `${topic}-dlq` })
  const settings: Settings = { topic, deadLetters, group: topic, generation: 1, sessionTimeoutMs: 6_000 }
  const access = { databaseUrl: database.url, kafkaBootstrap: kafka.bootstrap }
  await migrate(pool)
  await pool.query(readFileSync(new URL('../tables.sql', import.meta.url), 'utf8'))
  const rows = async (sql: string) => (await pool.query(sql)).rows
  const produced = { count: 0 }

  return {
    topic,
    rows,
    send: async (...events: Record<string, unknown>[]) => {
      await send(kafka.bootstrap, topic, events)
      produced.count += events.length
    },
    sendBytes: async (key: string, value: string) => {
      await kafka.produce(topic, [{ key, value }])
      produced.count++
    },
    deadLetters: () => kafka.read(deadLetters),

    async run({ mode = 'live' as Mode, generation = 1 } = {}): Promise<Running> {
      const env = realEnvironment()
      const running = await runConsumer(caseProjection({ ...settings, generation }), {
        ...access,
        mode,
        env,
      })
      closing.push(() => running.drain())
      return running
    },

    /** A process of its own that dies at the point. */
    async dies(dieAt: CrashPoint): Promise<NodeJS.Signals | null> {
      const orders: Orders = { settings, ...access, dieAt }
      const child = fork(new URL('./consumer-process.ts', import.meta.url), {
        env: { ...process.env, CASE_ORDERS: JSON.stringify(orders) },
      })
      closing.push(() => child.kill('SIGKILL'))
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      return child.signalCode
    },

    /** Waits until the group of a generation stands behind everything that was sent. */
    async caughtUp(generation = 1): Promise<void> {
      await until(`generation ${generation} has read ${produced.count} events`, async () => {
        const committed = await kafka.committed(`${settings.group}-v${generation}`, topic)
        return [...committed.values()].reduce((sum, offset) => sum + offset, 0) === produced.count
      })
    },
  }
}

export type Scene = Awaited<ReturnType<typeof openScene>>
