import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { createPool, migrate } from 'onceward/postgres'
import { type BrokerKind, createBroker, urlsFor } from '../crash/brokers.ts'
import { createDatabase } from '../services/services.ts'
import type { Death } from './death.ts'
import { tables, type VictimOrders } from './poison-contract.ts'

const victim = fileURLToPath(new URL('victim.ts', import.meta.url))

export interface SceneOptions {
  readonly kind: BrokerKind
  readonly killer: string
  readonly how: Death
  readonly stored?: boolean
  readonly reading?: boolean
}

/** A broker, a database, and processes of one consumer that die when they meet the killer. */
export async function openScene({ kind, killer, how, stored = false, reading = false }: SceneOptions) {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 2 })
  await migrate(pool)
  await pool.query(tables)
  const urls = await urlsFor(kind, database.url)
  const broker = await createBroker(kind, urls)
  const { declaration } = broker
  const orders: VictimOrders = {
    databaseUrl: database.url,
    urls,
    declaration,
    killer: { id: killer, how },
    stored,
    reading,
  }
  const children: ChildProcess[] = []
  const one = async (sql: string) => (await pool.query(sql)).rows[0]
  const scene = {
    database,
    pool,
    broker,
    orders,
    publish: (ids: readonly string[]) =>
      broker.publish(ids.map(id => ({ id, body: JSON.stringify({ id }) }))),
    spawn() {
      const child = spawn(
        process.execPath,
        ['--conditions=@onceward/source', '--max-old-space-size=128', victim],
        {
          env: { ...process.env, VICTIM_ORDERS: JSON.stringify(orders) },
          stdio: ['ignore', 'ignore', 'ignore'],
        },
      )
      children.push(child)
      const ended = new Promise<'died'>(resolve => child.once('exit', () => resolve('died')))
      return { child, ended }
    },
    /** Starts the consumer again whenever it has died, until `done`; answers how often that was. */
    async restartUntil(done: () => Promise<boolean>, restartsMax: number): Promise<number> {
      const deadline = performance.now() + 270_000
      for (let restarts = 0; ; restarts++) {
        assert.ok(restarts <= restartsMax, `still dying after ${restartsMax} restarts`)
        const { child, ended } = scene.spawn()
        const look = async (): Promise<'done' | 'died'> => {
          while (child.exitCode === null && child.signalCode === null) {
            assert.ok(performance.now() < deadline, 'it takes too long')
            if (await done()) return 'done'
            await Promise.race([ended, new Promise(resolve => setTimeout(resolve, 50))])
          }
          return 'died'
        }
        if ((await look()) === 'died') continue
        child.kill('SIGTERM')
        await ended
        return restarts
      }
    },
    effects: async () =>
      (await one('select count(*)::int as ids, coalesce(sum(times), 0)::int as times from effect')) as {
        ids: number
        times: number
      },
    held: async () =>
      (
        await pool.query(
          'select message_id as id, state::text, failure_class as class, code, reason, attempts, body from onceward.held',
        )
      ).rows,
    attempts: async () =>
      (await pool.query('select message_id as id, number, code from onceward.attempt order by 1, 2')).rows,
    async [Symbol.asyncDispose]() {
      for (const child of children) child.kill('SIGKILL')
      await broker.close()
      await pool.end()
      await database.drop()
    },
  }
  return scene
}
