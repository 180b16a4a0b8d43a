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
  /** How long other transactions may wait. Default 5 s, their lock timeout. */
  readonly holdUpMaxMs?: number
  readonly reach?: Reach
}

export interface PartitionResult {
  /** The markers were already in days; only missing days were created. */
  readonly already: boolean
  readonly moved: number
}

export interface PartitionPlan {
  readonly already: boolean
  /** Markers that move. */
  readonly markers: number
  /** Bytes scanned while all consumers wait. */
  readonly othersBytes: number
}

type Partitioned = Pick<Consumer, 'name' | 'generation' | 'retention'> & {
  readonly identity: { readonly idTime?: 'uuidv7' | 'ulid' | undefined }
}

export const holdUpDefaultMs = 5_000
/**
 * At most so many markers are moved while all consumers wait: about a second. With more, the consumer itself
 * must be stopped.
 */
const movedWhileHeldMax = 100_000

/**
 * Moves the markers of a consumer into daily partitions in one transaction: a kill leaves all or nothing
 * moved. With few markers, all consumers are blocked first, so that this one may keep running. With many, the
 * markers are moved before others are blocked; a batch that inserts one of them meanwhile waits for all.
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

/** The plan of a move; changes nothing. */
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
      `The contract of consumer ${name} does not set retention.partitions: 'daily'. Nothing was changed.`,
    )
  return { consumerId: await consumerIdOf(pool, consumer), form }
}

/** Excludes other moves and passes of retention for this consumer. */
async function lockOut(client: SqlClient, name: string, consumerId: number): Promise<void> {
  const { owner, name: ownerName, me } = await readOwner(client)
  if (!owner)
    throw new OncewardError(
      'usage',
      `Only the owner of the schema may do this: connect as ${ownerName}, not as ${me}. Nothing was changed.`,
    )
  // New tables must belong to the owner: the functions run as the owner and could not use them otherwise.
  await actAsOwner(client, ownerName)
  if (await tryLock(client, consumerId)) return
  throw new OncewardError(
    'usage',
    `Another process is partitioning markers or removing old rows of consumer ${name}. Nothing was changed. Try again when it has finished.`,
  )
}

async function inDays(client: SqlClient, name: string, consumerId: number, form: string): Promise<boolean> {
  const current = await readDayForm(client, consumerId)
  if (current === null) return false
  if (current === form) return true
  throw new OncewardError(
    'usage',
    `The markers of consumer ${name} are partitioned by ${current} ids, the contract says ${form}. Nothing was changed. Restore identity.idTime, or use a new generation.`,
  )
}

async function assertNotRebuilt(client: SqlClient, name: string, consumerId: number): Promise<void> {
  if (!(await isRebuilt(client, consumerId))) return
  throw new OncewardError(
    'usage',
    `Consumer ${name} is being rebuilt or can still be rolled back, which would discard moved markers. Nothing was changed. Finish or cancel the campaign first (see "onceward replay list").`,
  )
}

async function assertStopped(client: SqlClient, name: string, consumerId: number): Promise<void> {
  const instances = await readInstances(client, consumerId)
  if (instances.length === 0) return
  throw new OncewardError(
    'usage',
    `Consumer ${name} has more than ${movedWhileHeldMax} markers, and ${instances.join(', ')} runs it: its messages would wait until all are moved. Nothing was changed. Stop it first and wait one minute.`,
  )
}

/** Names the cause of a lock or statement timeout. */
async function clearly<T>(name: string, holdUpMaxMs: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { code } = error as { code?: string }
    const why =
      code === '55P03'
        ? 'Another transaction holds a lock on the markers. Wait for it to end, or terminate it'
        : code === '57014'
          ? `Other consumers would have waited longer than ${durationText(holdUpMaxMs)}. Choose a quiet time and raise --hold-up`
          : null
    if (why === null) throw error
    throw new OncewardError(
      'usage',
      `The markers of consumer ${name} were not moved: nothing was changed. ${why}.`,
      {
        cause: error,
      },
    )
  }
}
