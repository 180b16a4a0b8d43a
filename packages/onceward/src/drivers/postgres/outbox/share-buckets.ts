import type { PooledClient, SqlPool, SqlResult } from '../pool.ts'
import { sendTogether } from '../pool.ts'
import { setRoleSettings } from '../role-settings.ts'
import { leaseEnded } from '../sql/clock-ahead.ts'

/** The number of buckets in `onceward.outbox_bucket_of`. */
const bucketsMax = 32

const createBuckets = `
  insert into onceward.outbox_bucket (destination, bucket)
  select $1, bucket from generate_series(0, ${bucketsMax - 1}) as bucket on conflict do nothing`

const join = `
  insert into onceward.relay (destination, instance, until)
  values ($1, $2, clock_timestamp() + $3::double precision * interval '1 millisecond') returning id`

/** Serializes the relays of a destination, so none sees another's unfinished changes. */
const takeTurn = 'select from onceward.outbox_bucket where destination = $1 and bucket = 0 for update'

const extend = `
  update onceward.relay set until = clock_timestamp() + $2::double precision * interval '1 millisecond' where id = $1`

const bury = `delete from onceward.relay where destination = $1 and ${leaseEnded('until', 'clock_timestamp()', '$2')}`

const share = `(select ceil(${bucketsMax}.0 / greatest(1, count(*)))::int from onceward.relay where destination = $1)`
const mine = '(select count(*)::int from onceward.outbox_bucket where destination = $1 and relay_id = $2)'

const takeFree = `
  update onceward.outbox_bucket set relay_id = $2, leased_at = clock_timestamp()
  where destination = $1 and exists (select from onceward.relay where id = $2) and bucket in (
    select bucket from onceward.outbox_bucket as free
    where destination = $1 and not exists (select from onceward.relay where relay.id = free.relay_id)
    order by bucket limit greatest(0, ${share} - ${mine}))`

/** A bucket with a round in progress is kept until a later refresh. */
const giveBack = `
  update onceward.outbox_bucket set relay_id = null, leased_at = null
  where destination = $1 and relay_id = $2 and bucket in (
    select bucket from onceward.outbox_bucket
    where destination = $1 and relay_id = $2 and bucket <> all ($3::smallint[])
    order by bucket desc limit greatest(0, ${mine} - ${share}))`

const readMine =
  'select bucket from onceward.outbox_bucket where destination = $1 and relay_id = $2 order by bucket'

const begin = `begin; set local lock_timeout = 3000; set local idle_in_transaction_session_timeout = 5000; ${setRoleSettings}`

/** Registers a relay and returns its id. */
export async function joinRelays(
  pool: SqlPool,
  relay: { readonly destination: string; readonly instance: string; readonly leaseMs: number },
): Promise<string> {
  const { destination, instance, leaseMs } = relay
  await pool.query(createBuckets, [destination])
  const { rows } = await pool.query(join, [destination, instance, leaseMs])
  return rows[0].id
}

export interface BucketShare {
  readonly relayId: string
  readonly destination: string
  readonly leaseMs: number
  /** Buckets with a round in progress. */
  readonly busy: readonly number[]
}

/**
 * Extends the lease, deletes expired relays and balances the buckets. Returns the relay's buckets, or null
 * when another relay has deleted it.
 */
export async function shareBuckets(
  pool: SqlPool,
  { relayId, destination, leaseMs, busy }: BucketShare,
): Promise<readonly number[] | null> {
  const client = await pool.connect()
  let usable = false
  try {
    const [, , extended, , , , owned] = await together(client, [
      [begin],
      [takeTurn, [destination]],
      [extend, [relayId, leaseMs]],
      [bury, [destination, leaseMs]],
      [giveBack, [destination, relayId, busy]],
      [takeFree, [destination, relayId]],
      [readMine, [destination, relayId]],
      ['commit'],
    ])
    usable = true
    return extended!.rowCount === 0 ? null : owned!.rows.map(({ bucket }) => bucket as number)
  } finally {
    client.release(!usable)
  }
}

export async function removeRelay(pool: SqlPool, relayId: string): Promise<void> {
  await pool.query('delete from onceward.relay where id = $1', [relayId])
}

/**
 * Sends all statements in one round trip, so a process cannot freeze between them while it holds the lock.
 */
async function together(
  client: PooledClient,
  statements: readonly (readonly [text: string, values?: unknown[]])[],
): Promise<readonly SqlResult[]> {
  sendTogether(client)
  const answers = await Promise.allSettled(statements.map(([text, values]) => client.query(text, values)))
  const failed = answers.find(answer => answer.status === 'rejected')
  if (failed !== undefined) throw failed.reason
  return answers.map(answer => (answer as PromiseFulfilledResult<SqlResult>).value)
}
