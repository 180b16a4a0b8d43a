import type { Consumer } from '../../contract/define-consumer.ts'
import { durationText } from '../../contract/duration.ts'
import { inert, type Reach } from '../../crash-points.ts'
import { inTransaction } from '../../drivers/postgres/in-transaction.ts'
import type { SqlClient, SqlPool } from '../../drivers/postgres/pool.ts'
import {
  actAsOwner,
  attachDays,
  buildDays,
  countMarkers,
  isRebuilt,
  lockInbox,
  makeMissingDays,
  readBytesOfOthers,
  readDayForm,
  readInstances,
  readOwner,
  tryLock,
} from '../../drivers/postgres/retention/partition-inbox.ts'
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
        await makeMissingDays(client, consumerId)
        return { already: true, moved: 0 }
      }
      await assertNotRebuilt(client, consumer.name, consumerId)
      const few = (await countMarkers(client, consumerId, movedWhileHeldMax + 1)) <= movedWhileHeldMax
      if (!few) await assertStopped(client, consumer.name, consumerId)
      if (few) await lockInbox(client, holdUpMaxMs)
      const moved = await buildDays(client, consumerId, form, consumer.retention!.markers)
      reach('days.built')
      if (!few) await lockInbox(client, holdUpMaxMs)
      const came = await attachDays(client, consumerId)
      reach('days.attached')
      return { already: false, moved: moved + came }
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
    othersBytes: await readBytesOfOthers(client),
  }))
}

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

/** One at a time, and no pass of retention beside it. */
async function lockOut(client: SqlClient, name: string, consumerId: number): Promise<void> {
  const { owner, name: ownerName, me } = await readOwner(client)
  if (!owner)
    throw new OncewardError(
      'usage',
      `Only the owner of the schema may do this: connect as ${ownerName} (this is ${me}). Nothing was changed.`,
    )
  // Or the new tables were those of whoever runs the command, and closed to the functions, which are the
  // owner's.
  await actAsOwner(client, ownerName)
  if (await tryLock(client, consumerId)) return
  throw new OncewardError(
    'usage',
    `Another process is moving markers into days, or is removing old memory of consumer ${name}. Nothing was changed. Try again when it is done.`,
  )
}

async function inDays(client: SqlClient, name: string, consumerId: number, form: string): Promise<boolean> {
  const current = await readDayForm(client, consumerId)
  if (current === null) return false
  if (current === form) return true
  throw new OncewardError(
    'usage',
    `The markers of consumer ${name} lie in days of ${current} ids, the contract says ${form}. Nothing was changed. Set identity.idTime back, or use a new generation.`,
  )
}

async function assertNotRebuilt(client: SqlClient, name: string, consumerId: number): Promise<void> {
  if (!(await isRebuilt(client, consumerId))) return
  throw new OncewardError(
    'usage',
    `Consumer ${name} is being rebuilt, or can still be rolled back to its old tables: then markers that moved would be forgotten. Nothing was changed. Finish or cancel the campaign first (see "onceward replay list").`,
  )
}

async function assertStopped(client: SqlClient, name: string, consumerId: number): Promise<void> {
  const instances = await readInstances(client, consumerId)
  if (instances.length === 0) return
  throw new OncewardError(
    'usage',
    `Consumer ${name} has more than ${movedWhileHeldMax} markers, and ${instances.join(', ')} runs it: its messages would wait until all are moved. Nothing was changed. Stop it first, for a minute at least.`,
  )
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
