import { type Environment, realEnvironment } from 'onceward'
import { createPool, migrate } from 'onceward/postgres'
import { resolveRetention } from '../../src/contract/retention.ts'
import { type PurgeOptions, purgeConsumer } from '../../src/operations/retention/purge-consumer.ts'
import { createDatabase } from '../services/services.ts'

export const day = 86_400_000

/** A database with one consumer in it, whose memory can be filled with rows of any age. */
export async function memoryScene(risk = 'money') {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 4 })
  await migrate(pool)
  const { rows } = await pool.query(
    `insert into onceward.consumer (name, generation, owner, risk) values ('remembering', 1, 'tests', $1), ('other', 1, 'tests', 'money')
     returning id`,
    [risk],
  )
  const [consumerId, otherId] = rows.map(row => row.id as number)
  const one = async (sql: string, values: unknown[] = []) => (await pool.query(sql, values)).rows[0]
  return {
    url: database.url,
    pool,
    consumerId: consumerId!,
    otherId: otherId!,
    /** Markers named after the prefix, `days` old. */
    async markers(prefix: string, count: number, days: number, status = 'applied', id = consumerId) {
      await pool.query(
        `insert into onceward.inbox (consumer_id, run_id, at, status, message_id, digest)
         select $1, 1, clock_timestamp() - $4 * interval '1 day', $5::onceward.marker_status, $2 || lpad(n::text, 8, '0'), sha256('x')
         from generate_series(1, $3) n`,
        [id, prefix, count, days, status],
      )
    },
    async held(messageId: string, state: string, days: number) {
      await pool.query(
        `insert into onceward.held (consumer_id, run_id, state, message_id, digest, origin, delivery_count, headers, properties, body, first_at, last_at)
         select $1, 1, $3::onceward.held_state, $2, sha256('x'), 'q', 0, '{}', '{}', 'x', at, at
         from (select clock_timestamp() - $4 * interval '1 day' as at) as age`,
        [consumerId, messageId, state, days],
      )
    },
    left: async (prefix = '', table = 'inbox') =>
      (
        await one(
          `select count(*)::int from onceward.${table} where consumer_id = $1 and message_id like $2 || '%'`,
          [consumerId, prefix],
        )
      ).count as number,
    horizon: async () =>
      (await one('select purged_before, purged_count::int from onceward.horizon where consumer_id = $1', [
        consumerId,
      ])) as { purged_before: Date; purged_count: number } | undefined,
    deadlocks: async () =>
      Number(
        (await one('select deadlocks from pg_stat_database where datname = current_database()')).deadlocks,
      ),
    async [Symbol.asyncDispose]() {
      await pool.end()
      await database.drop()
    },
  }
}

export type MemoryScene = Awaited<ReturnType<typeof memoryScene>>

export function purgeOptions(
  scene: Pick<MemoryScene, 'pool' | 'consumerId'>,
  section: Parameters<typeof resolveRetention>[0] = { markers: '30d' },
  env: Environment = realEnvironment(),
): PurgeOptions {
  return {
    pool: scene.pool,
    env,
    consumerId: scene.consumerId,
    consumerName: 'remembering',
    retention: resolveRetention(section, 'money'),
    clocks: { wallMs: Date.now, clock: env.clock },
    share: 1,
  }
}

export const purge = (scene: MemoryScene, section?: Parameters<typeof resolveRetention>[0]) =>
  purgeConsumer(purgeOptions(scene, section))
