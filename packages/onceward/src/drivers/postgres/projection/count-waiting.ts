import type { SqlTransaction } from '../../../contract/handler.ts'

/** Stops counting at the caps. */
const count = `
  with me as (select consumer_id from onceward.run where id = current_setting('onceward.run')::integer)
  select wanted.key, (
      select count(*)::integer from (
        select from onceward.held, me
        where held.consumer_id = me.consumer_id and held.order_key = wanted.key and held.state = 'waiting' limit $2
      ) of_key
    ) as count, (
      select count(*)::integer from (
        select from onceward.held, me
        where held.consumer_id = me.consumer_id and held.order_key is not null and held.state = 'waiting' limit $3
      ) of_all
    ) as total
  from unnest($1::text[]) as wanted (key)`

/** Counts waiting messages per key. Every row also has the consumer's total. */
export async function countWaiting(
  tx: SqlTransaction,
  keys: readonly string[],
  { keyMax, totalMax }: { readonly keyMax: number; readonly totalMax: number },
): Promise<readonly { readonly key: string; readonly count: number; readonly total: number }[]> {
  const values = [keys, keyMax, totalMax]
  return (await tx.query<{ key: string; count: number; total: number }>(count, values)).rows
}
