import { inTransaction } from '../in-transaction.ts'
import type { SqlPool } from '../pool.ts'
import type { KindTerm } from './kinds.ts'

const declare = `
  insert into onceward.retention (consumer_id, kind, keep, action, next_at)
  select $1, term.kind, term.ms * interval '1 millisecond', $4, clock_timestamp() + $5::double precision * interval '1 millisecond'
  from unnest($2::text[], $3::double precision[]) as term (kind, ms)
  on conflict (consumer_id, kind) do update set keep = excluded.keep, action = excluded.action, next_at = excluded.next_at`

const declareTenancy = `
  insert into onceward.tenancy (consumer_id, separator, redelivered)
  values ($1, $2, $3::double precision * interval '1 millisecond')
  on conflict (consumer_id) do update set separator = excluded.separator, redelivered = excluded.redelivered`

/** How ids name a tenant, and the longest time after which a duplicate can arrive. */
export interface DeclaredTenancy {
  readonly separator: string
  readonly redeliveredMs: number
}

/**
 * Called at start: records the terms of the contract and when the first pass is due.
 */
export function recordTerms(
  pool: SqlPool,
  consumerId: number,
  { terms, action }: { readonly terms: readonly KindTerm[]; readonly action: string },
  tenancy: DeclaredTenancy | null,
  firstInMs: number,
): Promise<void> {
  const kinds = terms.map(term => term.kind.kind)
  return inTransaction(pool, async client => {
    await client.query('delete from onceward.retention where consumer_id = $1 and kind <> all($2::text[])', [
      consumerId,
      kinds,
    ])
    const keeps = terms.map(term => term.keepMs)
    await client.query(declare, [consumerId, kinds, keeps, action, firstInMs])
    if (tenancy === null)
      await client.query('delete from onceward.tenancy where consumer_id = $1', [consumerId])
    else await client.query(declareTenancy, [consumerId, tenancy.separator, tenancy.redeliveredMs])
  })
}

export async function recordPassBegin(pool: SqlPool, consumerId: number): Promise<void> {
  await pool.query(
    'update onceward.retention set began_at = clock_timestamp(), ended_at = null, note = null where consumer_id = $1',
    [consumerId],
  )
}

/** `note`: why the pass was incomplete; null when it was complete. */
export async function recordPassEnd(
  pool: SqlPool,
  consumerId: number,
  nextInMs: number,
  note: string | null,
): Promise<void> {
  await pool.query(
    `update onceward.retention set ended_at = clock_timestamp(), note = $3,
       next_at = clock_timestamp() + $2::double precision * interval '1 millisecond' where consumer_id = $1`,
    [consumerId, nextInMs, note],
  )
}
