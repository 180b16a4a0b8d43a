import type { Enrolment } from '../../../ports/enrolment.ts'
import type { DoneWork, PutOffWork, WorkLease } from '../../../ports/held-work.ts'
import type { SqlClient } from '../pool.ts'
import { intArray } from './int-array.ts'
import { endKeyWaits, isAwaited } from './key-waits.ts'
import { leaseLost } from './lease-lost.ts'
import { byKey, isKeyed, lookupByKey } from './lookup-by-key.ts'

const applied = `status = 'applied', run_id = current_setting('onceward.run')::integer, arrived_at = coalesce(arrived_at, at), at = now()`

/**
 * In a partitioned table no row belongs to the parent: a row that is not found by its ctid is found by its
 * key, like a row that has moved.
 */
const idsOfGone = '(select message_id as key from gone) asked'
const markers = {
  whole: `where ctid = any (array(select ctid from ${lookupByKey('inbox', 'message_id', idsOfGone)}))
      and tableoid = 'onceward.inbox'::regclass`,
  spread: `from ${byKey(idsOfGone)} where ${isKeyed}`,
}

const keysOfGone = '(select business_key as key, message_id from gone where business_key is not null) asked'

/**
 * Removes the row and updates its marker in one statement; a business key that was inserted long before is
 * remembered from now on as well. Only one transaction can remove a row, and only under the epoch of its
 * lease: a worker that was frozen past its lease finds no row. Rows are looked up one by one: a join would
 * read all held work, which was half the cost of this statement at 8,000 rows.
 */
const remove = (layout: 'whole' | 'spread') => `
  with mine as materialized (
    select h.ctid from unnest($2::bigint[], $3::integer[]) as m (id, epoch)
    cross join lateral (
      select ctid from onceward.held h where h.id = m.id and h.epoch = m.epoch limit 1 for update) h),
  gone as (
    delete from onceward.held h using mine where h.ctid = mine.ctid returning h.id, h.message_id, h.business_key),
  marked as (
    update onceward.inbox set ${applied}
    ${markers[layout]}
    returning 1),
  renewed as (
    update onceward.business_key set at = clock_timestamp()
    where ctid = any (array(
      select ctid from ${lookupByKey('business_key', 'key', keysOfGone, 'ctid, message_id, at')}
      where found.message_id = asked.message_id and found.at < clock_timestamp() - interval '1 hour'))),
  ending as materialized (
    select id, business_key, message_id from gone
    where business_key is not null and (id = any($4::bigint[]) or ${isAwaited('gone.business_key')}))
  select count(*)::integer as count, case when count(*) < cardinality($2::bigint[]) then array_agg(id::text) end as ids,
    case when (select count(*) from marked) < count(message_id) then array_agg(message_id) end as unmarked,
    (select array_agg(id::text order by id) from ending) as "keyRows", (select array_agg(business_key order by id) from ending) as keys,
    (select array_agg(message_id order by id) from ending) as holders
  from gone`

/** For messages that can no longer be read: only their rows have the keys. */
const giveBackUnread = `
  delete from onceward.business_key k using unnest($2::text[], $3::text[]) as unread (key, holder)
  where k.consumer_id = $1 and k.key = unread.key and k.message_id = unread.holder`

const removals = { whole: remove('whole'), spread: remove('spread') }

/**
 * A marker that another transaction updated while the statement waited for it has moved, and its ctid no
 * longer finds it. It would stay "stored" although the work is done. Its key finds it in any place, or not at
 * all if it was removed.
 */
const markMoved = `
  update onceward.inbox set ${applied} where consumer_id = $1 and message_id = any($2::text[]) and status <> 'applied'`

const putOff = `
  update onceward.held h
  set due_at = clock_timestamp() + mine.delay_ms * interval '1 millisecond', lease_until = null, last_at = clock_timestamp(),
    attempts = greatest(h.attempts, mine.attempts), reason = mine.reason, failure_class = mine.failure_class, code = mine.code,
    error = mine.error
  from unnest($1::bigint[], $2::integer[], $3::float8[], $4::integer[], $5::text[], $6::text[], $7::text[], $8::text[])
    as mine (id, epoch, delay_ms, attempts, reason, failure_class, code, error)
  where h.id = mine.id and h.epoch = mine.epoch returning h.id::text as id`

export async function finishWork(
  client: SqlClient,
  enrolment: Enrolment,
  done: readonly DoneWork[],
  again: readonly PutOffWork[],
): Promise<void> {
  const lost: string[] = []
  if (done.length > 0) lost.push(...(await removeDone(client, enrolment, done)))
  if (again.length > 0) lost.push(...(await putOffAgain(client, again)))
  if (lost.length > 0) throw leaseLost(lost)
}

/**
 * A row whose lease the heartbeat extended while the statement waited is locked in its new version, which the
 * snapshot of the statement does not show: it is locked, not removed. The second statement sees it; a row
 * that it does not find is lost.
 */
async function removeDone(
  client: SqlClient,
  enrolment: Enrolment,
  done: readonly DoneWork[],
): Promise<readonly string[]> {
  const passed = new Set(await removeSeen(client, enrolment, done))
  if (passed.size === 0) return []
  const again = done.filter(lease => passed.has(lease.row))
  return removeSeen(client, enrolment, again)
}

async function removeSeen(
  client: SqlClient,
  enrolment: Enrolment,
  done: readonly DoneWork[],
): Promise<readonly string[]> {
  const { consumerId, facts, markersSpread } = enrolment
  const values = [consumerId, intArray(done.map(one => one.row)), intArray(done.map(one => one.epoch))]
  const unread = done.filter(({ key }) => key === 'unread').map(({ row }) => row)
  const { rows } = await client.query(removals[markersSpread ? 'spread' : 'whole'], [
    ...values,
    unread.length === 0 ? null : intArray(unread),
  ])
  if (facts.dedup === 'marker' && rows[0].unmarked !== null)
    await client.query(markMoved, [consumerId, rows[0].unmarked])
  if (rows[0].keys !== null) await endKeys(client, consumerId, done, rows[0])
  return rows[0].count === done.length ? [] : missing(done, (rows[0].ids as string[] | null) ?? [])
}

interface KeysOfGone {
  readonly keyRows: readonly string[]
  readonly keys: readonly string[]
  readonly holders: readonly string[]
}

async function endKeys(
  client: SqlClient,
  consumerId: number,
  done: readonly DoneWork[],
  { keyRows, keys, holders }: KeysOfGone,
): Promise<void> {
  const ends = new Map(done.map(({ row, key }) => [row, key]))
  const ended = keyRows.flatMap((row, index) => {
    const end = ends.get(row)
    return end == null ? [] : { end, key: keys[index]!, holder: holders[index]! }
  })
  const unread = ended.filter(({ end }) => end === 'unread')
  if (unread.length > 0)
    await client.query(giveBackUnread, [
      consumerId,
      unread.map(({ key }) => key),
      unread.map(({ holder }) => holder),
    ])
  await endKeyWaits(client, consumerId, ended)
}

async function putOffAgain(client: SqlClient, again: readonly PutOffWork[]): Promise<readonly string[]> {
  const { rows } = await client.query(putOff, [
    again.map(one => one.row),
    again.map(one => one.epoch),
    again.map(one => one.delayMs),
    again.map(one => one.attempts),
    again.map(one => one.reason),
    again.map(one => one.failureClass),
    again.map(one => one.code),
    again.map(one => one.error),
  ])
  return missing(
    again,
    rows.map(row => row.id as string),
  )
}

function missing(leases: readonly WorkLease[], found: readonly string[]): string[] {
  const there = new Set(found)
  return leases.map(lease => lease.row).filter(row => !there.has(row))
}
