import type { WorkLease, WorkQueue } from '../../ports/held-work.ts'
import type { SqlResult } from './pool.ts'
import { intArray } from './sql/int-array.ts'
import { claimWork, settings } from './sql/lease-work.ts'

/** Rows are looked up one by one: a join would rather read all held work there is. */
const byRow = { ...settings, enable_hashjoin: 'off', enable_mergejoin: 'off' }

const mine = 'unnest($1::bigint[], $2::integer[]) as mine (id, epoch)'

/** Rows that our own finishing transaction has locked are left alone: they are done with either way. */
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

/** One statement in a transaction of its own, under settings that end with it. */
export type ShortTransaction = (
  settings: Readonly<Record<string, string>>,
  text: string,
  values: readonly unknown[],
) => Promise<SqlResult>

export function workQueue(short: ShortTransaction): WorkQueue {
  return {
    lease: (enrolment, request) => claimWork(short, enrolment, request),
    async extend(claims, leaseMs) {
      const { rows } = await short(byRow, extend, [...columns(claims), leaseMs])
      return rows
    },
    async giveBack(claims) {
      await short(byRow, giveBack, columns(claims))
    },
  }
}

function columns(claims: readonly WorkLease[]): unknown[] {
  return [intArray(claims.map(claim => claim.row)), intArray(claims.map(claim => claim.epoch))]
}
