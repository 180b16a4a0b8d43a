import { setLocal } from '../in-transaction.ts'
import type { SqlClient } from '../pool.ts'
import { isHeard } from '../sql/clock-ahead.ts'

const bytesOfOthers = `select pg_table_size(coalesce(to_regclass('onceward.inbox_rest'), 'onceward.inbox'))::float8 as bytes`

export async function readBytesOfOthers(client: SqlClient): Promise<number> {
  return (await client.query(bytesOfOthers)).rows[0].bytes
}

const mayDo = `
  select pg_has_role(current_user, relowner, 'usage') as owner, pg_get_userbyid(relowner) as name, current_user as me
  from pg_class where oid = 'onceward.inbox'::regclass`

export interface SchemaOwner {
  /** This session may act as the owner. */
  readonly owner: boolean
  readonly name: string
  readonly me: string
}

export async function readOwner(client: SqlClient): Promise<SchemaOwner> {
  return (await client.query(mayDo)).rows[0]
}

/** Until the transaction ends, new tables belong to the owner. */
export async function actAsOwner(client: SqlClient, owner: string): Promise<void> {
  await client.query(`select set_config('role', $1, true)`, [owner])
}

/**
 * False while another process partitions, or removes rows of this consumer. Held until the transaction ends.
 */
export async function tryLock(client: SqlClient, consumerId: number): Promise<boolean> {
  const { rows } = await client.query(
    `select pg_try_advisory_xact_lock(hashtext('onceward.partition')) and pg_try_advisory_xact_lock(x'72657461'::integer, $1) as mine`,
    [consumerId],
  )
  return rows[0].mine
}

/** The form of ids by which the consumer's markers are in days; null when they are not. */
export async function readDayForm(client: SqlClient, consumerId: number): Promise<string | null> {
  const { rows } = await client.query('select id_format from onceward.marker_days where consumer_id = $1', [
    consumerId,
  ])
  return rows[0]?.id_format ?? null
}

export async function countMarkers(
  client: SqlClient,
  consumerId: number,
  max: number | null,
): Promise<number> {
  const { rows } = await client.query(
    'select count(*)::float8 as count from (select from onceward.inbox where consumer_id = $1 limit $2) counted',
    [consumerId, max],
  )
  return rows[0].count
}

export async function isRebuilt(client: SqlClient, consumerId: number): Promise<boolean> {
  return (await client.query('select onceward.has_open_rebuild($1) as rebuilt', [consumerId])).rows[0].rebuilt
}

/** Instances that reported within the last minute. */
export async function readInstances(client: SqlClient, consumerId: number): Promise<readonly string[]> {
  const { rows } = await client.query(
    `select instance from onceward.run where consumer_id = $1 and ended_at is null and ${isHeard('heartbeat_at', '1 minute')}`,
    [consumerId],
  )
  return rows.map(({ instance }) => instance)
}

export async function makeMissingDays(client: SqlClient, consumerId: number): Promise<void> {
  await client.query('select onceward.make_days($1)', [consumerId])
}

/** A live process has sent its next statement by then. */
const betweenStatementsMs = 1_000

/**
 * Blocks all other writers from here on. The timeouts bound this, also when the process freezes.
 */
export async function lockInbox(client: SqlClient, holdUpMaxMs: number): Promise<void> {
  await client.query('select onceward.lock_inbox()')
  const idleMaxMs = Math.max(holdUpMaxMs, betweenStatementsMs)
  await client.query(
    setLocal({
      statement_timeout: `${holdUpMaxMs}ms`,
      idle_in_transaction_session_timeout: `${idleMaxMs}ms`,
    }),
  )
}

export async function buildDays(
  client: SqlClient,
  consumerId: number,
  form: string,
  keptMs: number,
): Promise<number> {
  const { rows } = await client.query(
    `select onceward.build_days($1, $2, (clock_timestamp() at time zone 'UTC' - $3::float8 * interval '1 millisecond')::date - 1)::float8 as moved`,
    [consumerId, form, keptMs],
  )
  return rows[0].moved
}

/** Answers how many more markers were inserted meanwhile and moved now. */
export async function attachDays(client: SqlClient, consumerId: number): Promise<number> {
  return (await client.query('select onceward.attach_days($1)::float8 as came', [consumerId])).rows[0].came
}
