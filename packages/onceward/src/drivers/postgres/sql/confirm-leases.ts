import type { Enrolment } from '../../../ports/enrolment.ts'
import type { TakenWork } from '../../../ports/held-work.ts'
import type { SqlClient } from '../pool.ts'
import { effectsOf } from './campaign-effects.ts'
import { intArray } from './int-array.ts'
import { leaseLost } from './lease-lost.ts'

/**
 * Like the insert of markers it needs the setting of the transaction: outside of it no work of a worker may
 * run.
 */
const inOurs = `current_setting('onceward.run') is not null`

/**
 * Looked up one by one: a join would read all held work. Work of a campaign that is about to request effects
 * must be permitted to in this transaction: its approval may have expired since the lease.
 */
const itsRow = `left join lateral (
    select id from onceward.held h where h.id = m.id and h.epoch = m.epoch
      and (not m.asks or ${effectsOf('h.campaign_id')} = 'requested') limit 1) h on true`

const stillMine = `
  select m.id::text as row, true as lost, null as key, null as before
  from unnest($1::bigint[], $2::integer[], $3::boolean[]) as m (id, epoch, asks)
  ${itsRow} where ${inOurs} and h.id is null`

/**
 * Returns only problems: a lost lease, an earlier unfinished message of the key, or a blocked key. The
 * blocked key is locked, so that an operator who releases it waits for messages that are being parked.
 */
const inTurn = `
  select m.id::text as row, h.id is null as lost, m.key,
    case when blocked.key is not null then 'parked' else before.state::text end as before
  from unnest($1::bigint[], $2::integer[], $3::boolean[], $5::text[]) as m (id, epoch, asks, key)
  ${itsRow}
  left join lateral (
    select e.state from onceward.held e
    where e.consumer_id = $4 and e.order_key = m.key and e.order_key is not null and e.state in ('stored', 'parked') and e.id < m.id
    order by e.id limit 1
  ) before on true
  left join lateral (
    select b.key from onceward.blocked_key b where b.consumer_id = $4 and b.key = m.key and b.state = 'parked'
      and (b.released_to is null or b.released_to < m.id) limit 1 for share
  ) blocked on true
  where ${inOurs} and (h.id is null or before.state is not null or blocked.key is not null)`

/**
 * Whether the leases of a batch are still valid, before any attempt, and which keys have an earlier
 * unfinished message.
 */
export async function confirmLeases(
  client: SqlClient,
  { consumerId }: Enrolment,
  work: readonly TakenWork[],
): Promise<ReadonlyMap<string, 'stored' | 'parked'>> {
  const leases = [
    intArray(work.map(one => one.row)),
    intArray(work.map(one => one.epoch)),
    work.map(one => one.asks),
  ]
  const { rows } = work.some(one => one.headOf !== null)
    ? await client.query(inTurn, [...leases, consumerId, work.map(one => one.headOf)])
    : await client.query(stillMine, leases)
  const lost = rows.filter(row => row.lost)
  if (lost.length > 0) throw leaseLost(lost.map(row => row.row as string))
  return new Map(rows.map(row => [row.key as string, row.before as 'stored' | 'parked']))
}
