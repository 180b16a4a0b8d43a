import type { WorkLease, WorkQueue } from '../../ports/held-work.ts'
import type { SqlResult } from './pool.ts'
import { intArray } from './sql/int-array.ts'
import { leaseWork, settings } from './sql/lease-work.ts'

/** Rows are looked up one by one: a join would read all held work. */
const byRow = { ...settings, enable_hashjoin: 'off', enable_mergejoin: 'off' }

const mine = 'unnest($1::bigint[], $2::integer[]) as mine (id, epoch)'

/** Rows that the finishing transaction of this worker has locked are skipped: they are done either way. */
const extend = `
  with still as materialized (
    select h.id from onceward.held h join ${mine} on h.id = mine.id and h.epoch = mine.epoch for update of h skip locked),
  extended as (
    update onceward.held h set lease_until = clock_timestamp() + $3::float8 * interval '1 millisecond'
    from still where h.id = still.id)
  select mine.id::text as row, mine.epoch, exists (select from onceward.held h where h.id = mine.id) as taken from ${mine}
  where not exists (select from onceward.held h where h.id = mine.id and h.epoch = mine.epoch)`

const giveBack = `
  update onceward.held h set lease_until = null from ${mine} where h.id = mine.id and h.epoch = mine.epoch`

/** One statement in one transaction, with settings local to it. */
export type ShortTransaction = (
  settings: Readonly<Record<string, string>>,
  text: string,
  values: readonly unknown[],
) => Promise<SqlResult>

export function workQueue(short: ShortTransaction): WorkQueue {
  return {
    lease: (enrolment, request) => leaseWork(short, enrolment, request),
    async extend(leases, leaseMs) {
      const { rows } = await short(byRow, extend, [...columns(leases), leaseMs])
      return rows
    },
    async giveBack(leases) {
      await short(byRow, giveBack, columns(leases))
    },
  }
}

function columns(leases: readonly WorkLease[]): unknown[] {
  return [intArray(leases.map(lease => lease.row)), intArray(leases.map(lease => lease.epoch))]
}
