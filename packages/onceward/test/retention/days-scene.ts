import type { RetentionSection } from 'onceward'
import { type Environment, realEnvironment } from 'onceward'
import { resolveRetention } from '../../src/contract/retention.ts'
import { partitionConsumer } from '../../src/operations/retention/partition-consumer.ts'
import { purgeConsumer } from '../../src/operations/retention/purge-consumer.ts'
import { declareTerms } from '../../src/operations/retention/record-pass.ts'
import { day, type MemoryScene, memoryScene, purgeOptions } from './scene.ts'

export type IdForm = 'uuidv7' | 'ulid'

const daily: RetentionSection = { markers: '30d', partitions: 'daily' }
const crockford = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** An id of a moment, told apart by its number. */
export function idAt(form: IdForm, ms: number, n: number): string {
  if (form === 'uuidv7') {
    const hex = Math.floor(ms).toString(16).padStart(12, '0')
    return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${n.toString(16).padStart(12, '0')}`
  }
  const time = Array.from({ length: 10 }, (_, at) => crockford[Math.floor(ms / 32 ** (9 - at)) % 32]).join('')
  return `${time}${n.toString().padStart(16, '0')}`
}

/** Noon of a day, so that a test that begins before midnight ends on the same one. */
export function noon(daysAgo: number): number {
  return Math.floor(Date.now() / day) * day + day / 2 - daysAgo * day
}

export const consumerOf = (form: IdForm = 'uuidv7', section: RetentionSection = daily) => ({
  name: 'remembering',
  generation: 1,
  retention: resolveRetention(section, 'money'),
  identity: { id: () => '', idTime: form },
})

/** A memory whose consumer may lie in days. */
export async function daysScene(form: IdForm = 'uuidv7') {
  const scene = await memoryScene()
  const { pool, consumerId } = scene
  await declareTerms(pool, consumerId, consumerOf(form).retention, 0)
  return {
    ...scene,
    partition: (section: RetentionSection = daily) =>
      partitionConsumer(pool, consumerOf(form, section) as never),
    /** Markers of ids of that day, applied at it unless said otherwise. */
    async write(
      daysAgo: number,
      count: number,
      set: { appliedAgo?: number; status?: string; from?: number; of?: number } = {},
    ) {
      const { appliedAgo = daysAgo, status = 'applied', from = 0, of = consumerId } = set
      const ids = Array.from({ length: count }, (_, n) => idAt(form, noon(daysAgo), from + n))
      await pool.query(
        `insert into onceward.inbox (consumer_id, run_id, at, status, message_id, digest)
         select $1, 1, to_timestamp($2::float8 / 1000), $3::onceward.marker_status, id, sha256('x') from unnest($4::text[]) id`,
        [of, noon(appliedAgo), status, ids],
      )
      return ids
    },
    async tables(): Promise<string[]> {
      const { rows } = await pool.query(
        `select relid::regclass::text as name from pg_partition_tree('onceward.inbox') where isleaf order by 1`,
      )
      return rows.map(row => row.name.replace('onceward.', ''))
    },
    async tableOf(id: string): Promise<string | undefined> {
      const { rows } = await pool.query(
        'select tableoid::regclass::text as name from onceward.inbox where consumer_id = $1 and message_id = $2',
        [consumerId, id],
      )
      return rows[0]?.name.replace('onceward.', '')
    },
    /** Nobody else is in a transaction. */
    async isQuiet(): Promise<boolean> {
      const { rows } = await pool.query(
        `select not exists (select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle') as quiet`,
      )
      return rows[0].quiet
    },
    dayTable: (daysAgo: number) =>
      `inbox_${consumerId}_${new Date(noon(daysAgo)).toISOString().slice(0, 10).replaceAll('-', '')}`,
    pass: (section: RetentionSection = daily, env: Environment = realEnvironment()) =>
      purgeConsumer(purgeOptions(scene, section, env)),
  }
}

export type DaysScene = Awaited<ReturnType<typeof daysScene>>
export type { MemoryScene }
