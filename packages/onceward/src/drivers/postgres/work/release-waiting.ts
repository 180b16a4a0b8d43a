import type { SqlTransaction } from '../../../contract/handler.ts'

/** The consumer of the current transaction. */
const consumer = `(select consumer_id from onceward.run where id = current_setting('onceward.run')::integer)`

/** Due microseconds apart, so that workers lease them in order of version. */
const release = `
  with clock as materialized (select clock_timestamp() as now),
  free as materialized (
    select h.id, row_number() over (order by h.order_key, h.version) as place
    from unnest($1::text[], $2::bigint[]) as ready (key, version)
    join onceward.held h on h.consumer_id = ${consumer} and h.state = 'waiting' and h.order_key = ready.key and h.version <= ready.version
    where not h.released)
  update onceward.held h
  set released = true, due_at = (select now from clock) + free.place * interval '1 microsecond', last_at = (select now from clock)
  from free where h.id = free.id`

/**
 * Inside a batch's transaction: makes messages that wait under these keys, up to these versions, due now in
 * order of version. Returns their number. A batch that is about to decide `wait` must hold a lock that the
 * releaser needs too: otherwise each may miss the other's uncommitted row.
 */
export async function releaseWaiting(
  tx: SqlTransaction,
  ready: readonly { readonly key: string; readonly version: bigint }[],
): Promise<number> {
  if (ready.length === 0) return 0
  const { rowCount } = await tx.query(release, [ready.map(one => one.key), ready.map(one => one.version)])
  return rowCount
}

/** Takes that lock for keys without a row to lock. Held until the transaction ends. */
export async function lockWaitingKeys(tx: SqlTransaction, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return
  await tx.query(
    `select pg_advisory_xact_lock(hashtext('onceward.wait'), place) from (
       select distinct hashtext(${consumer}::text || ' ' || key) as place from unnest($1::text[]) as key order by 1) sorted`,
    [keys],
  )
}
