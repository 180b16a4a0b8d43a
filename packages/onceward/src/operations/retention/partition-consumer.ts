import type { Consumer } from '../../contract/define-consumer.ts'
import { durationText } from '../../contract/duration.ts'
import { inert, type Reach } from '../../crash-points.ts'
import { inTransaction, setLocal } from '../../drivers/postgres/in-transaction.ts'
import type { SqlClient, SqlPool } from '../../drivers/postgres/pool.ts'
import { isHeard } from '../../drivers/postgres/sql/clock-ahead.ts'
import { OncewardError } from '../../errors.ts'
import { consumerIdOf } from './plan-purge.ts'

export interface PartitionOptions {
  /** How long others may wait for us. Default 5 s, which is what their transactions wait for a lock. */
  readonly holdUpMaxMs?: number
  readonly reach?: Reach
}

export interface PartitionResult {
  /** They lay in days already, and only missing ones were made. */
  readonly already: boolean
  readonly moved: number
}

export interface PartitionPlan {
  readonly already: boolean
  /** Markers that move. */
  readonly markers: number
  /** What is read through while everybody waits. */
  readonly othersBytes: number
}

type Partitioned = Pick<Consumer, 'name' | 'generation' | 'retention'> & {
  readonly identity: { readonly idTime?: 'uuidv7' | 'ulid' | undefined }
}

export const holdUpDefaultMs = 5_000
/**
 * Markers that are moved while everybody waits: about a second. With more, only the consumer itself has to be
 * stopped.
 */
const movedWhileHeldMax = 100_000
/** A process that is alive has sent its next statement by then. */
const betweenStatementsMs = 1_000

/**
 * Moves the markers of a consumer into daily partitions, in one transaction: killed anywhere, it has done all
 * or nothing. With few markers everybody is held up first, so that the consumer may go on; with many they are
 * moved before anybody is held up, and whoever claimed one of them meanwhile would wait for all.
 */
export async function partitionConsumer(
  pool: SqlPool,
  consumer: Partitioned,
  { holdUpMaxMs = holdUpDefaultMs, reach = inert }: PartitionOptions = {},
): Promise<PartitionResult> {
  const { consumerId, form } = await partitioned(pool, consumer)
  const result = await clearly(consumer.name, holdUpMaxMs, () =>
    inTransaction(pool, async client => {
      await client.query('set transaction isolation level read committed')
      await lockOut(client, consumer.name, consumerId)
      if (await inDays(client, consumer.name, consumerId, form)) {
        await client.query('select onceward.make_days($1)', [consumerId])
        return { already: true, moved: 0 }
      }
      await assertNotRebuilt(client, consumer.name, consumerId)
      const few = (await countMarkers(client, consumerId, movedWhileHeldMax + 1)) <= movedWhileHeldMax
      if (!few) await assertStopped(client, consumer.name, consumerId)
      if (few) await holdUp(client, holdUpMaxMs)
      const moved = await build(client, consumerId, form, consumer.retention!.markers)
      reach('days.built')
      if (!few) await holdUp(client, holdUpMaxMs)
      const { rows } = await client.query('select onceward.attach_days($1)::float8 as came', [consumerId])
      reach('days.attached')
      return { already: false, moved: moved + rows[0].came }
    }),
  )
  reach('days.standing')
  return result
}

/** What it would do; changes nothing. */
export async function planPartition(pool: SqlPool, consumer: Partitioned): Promise<PartitionPlan> {
  const { consumerId, form } = await partitioned(pool, consumer)
  return inTransaction(pool, async client => ({
    already: await inDays(client, consumer.name, consumerId, form),
    markers: await countMarkers(client, consumerId, null),
    othersBytes: (await client.query(bytesOfOthers)).rows[0].bytes,
  }))
}

const bytesOfOthers = `select pg_table_size(coalesce(to_regclass('onceward.inbox_rest'), 'onceward.inbox'))::float8 as bytes`

async function partitioned(pool: SqlPool, consumer: Partitioned) {
  const { name, retention, identity } = consumer
  const form = identity.idTime
  if (retention === null || retention.partitions !== 'daily' || form === undefined)
    throw new OncewardError(
      'usage',
      `The contract of consumer ${name} does not say retention.partitions: 'daily'. Nothing was changed.`,
    )
  return { consumerId: await consumerIdOf(pool, consumer), form }
}

const mayDo = `
  select pg_has_role(current_user, relowner, 'usage') as owner, pg_get_userbyid(relowner) as name, current_user as me
  from pg_class where oid = 'onceward.inbox'::regclass`

/** One at a time, and no pass of retention beside it. */
async function lockOut(client: SqlClient, name: string, consumerId: number): Promise<void> {
  const { owner, name: ownerName, me } = (await client.query(mayDo)).rows[0]
  if (!owner)
    throw new OncewardError(
      'usage',
      `Only the owner of the schema may do this: connect as ${ownerName} (this is ${me}). Nothing was changed.`,
    )
  // Or the new tables were those of whoever runs the command, and closed to the functions, which are the
  // owner's.
  await client.query(`select set_config('role', $1, true)`, [ownerName])
  const { rows } = await client.query(
    `select pg_try_advisory_xact_lock(hashtext('onceward.partition')) and pg_try_advisory_xact_lock(x'72657461'::integer, $1) as mine`,
    [consumerId],
  )
  if (rows[0].mine) return
  throw new OncewardError(
    'usage',
    `Another process is moving markers into days, or is removing old memory of consumer ${name}. Nothing was changed. Try again when it is done.`,
  )
}

async function inDays(client: SqlClient, name: string, consumerId: number, form: string): Promise<boolean> {
  const { rows } = await client.query('select id_format from onceward.marker_days where consumer_id = $1', [
    consumerId,
  ])
  if (rows.length === 0) return false
  if (rows[0].id_format === form) return true
  throw new OncewardError(
    'usage',
    `The markers of consumer ${name} lie in days of ${rows[0].id_format} ids, the contract says ${form}. Nothing was changed. Set identity.idTime back, or use a new generation.`,
  )
}

async function countMarkers(client: SqlClient, consumerId: number, max: number | null): Promise<number> {
  const { rows } = await client.query(
    'select count(*)::float8 as count from (select from onceward.inbox where consumer_id = $1 limit $2) counted',
    [consumerId, max],
  )
  return rows[0].count
}

async function assertNotRebuilt(client: SqlClient, name: string, consumerId: number): Promise<void> {
  const { rows } = await client.query('select onceward.has_open_rebuild($1) as rebuilt', [consumerId])
  if (!rows[0].rebuilt) return
  throw new OncewardError(
    'usage',
    `Consumer ${name} is being rebuilt, or can still be rolled back to its old tables: then markers that moved would be forgotten. Nothing was changed. Finish or cancel the campaign first (see "onceward replay list").`,
  )
}

async function assertStopped(client: SqlClient, name: string, consumerId: number): Promise<void> {
  const { rows } = await client.query(
    `select instance from onceward.run where consumer_id = $1 and ended_at is null and ${isHeard('heartbeat_at', '1 minute')}`,
    [consumerId],
  )
  if (rows.length === 0) return
  throw new OncewardError(
    'usage',
    `Consumer ${name} has more than ${movedWhileHeldMax} markers, and ${rows.map(({ instance }) => instance).join(', ')} runs it: its messages would wait until all are moved. Nothing was changed. Stop it first, for a minute at least.`,
  )
}

/**
 * Nobody else moves from here on; nor do we for longer than said, nor does the server wait for us should this
 * process freeze.
 */
async function holdUp(client: SqlClient, holdUpMaxMs: number): Promise<void> {
  await client.query('select onceward.lock_inbox()')
  const idleMaxMs = Math.max(holdUpMaxMs, betweenStatementsMs)
  await client.query(
    setLocal({
      statement_timeout: `${holdUpMaxMs}ms`,
      idle_in_transaction_session_timeout: `${idleMaxMs}ms`,
    }),
  )
}

async function build(client: SqlClient, consumerId: number, form: string, keptMs: number): Promise<number> {
  const { rows } = await client.query(
    `select onceward.build_days($1, $2, (clock_timestamp() at time zone 'UTC' - $3::float8 * interval '1 millisecond')::date - 1)::float8 as moved`,
    [consumerId, form, keptMs],
  )
  return rows[0].moved
}

/** What stood in the way, in words. */
async function clearly<T>(name: string, holdUpMaxMs: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { code } = error as { code?: string }
    const why =
      code === '55P03'
        ? "Somebody's transaction holds the markers. Wait for it to end, or end it"
        : code === '57014'
          ? `Others would have waited for longer than ${durationText(holdUpMaxMs)}. Choose a quiet time and give more with --hold-up`
          : null
    if (why === null) throw error
    throw new OncewardError(
      'usage',
      `The markers of consumer ${name} lie where they lay: nothing was changed. ${why}.`,
      {
        cause: error,
      },
    )
  }
}
