import type { SqlTransaction } from '../../../contract/handler.ts'

export interface RebuildKey {
  readonly key: string
  readonly found: bigint | null
  readonly wanted: bigint
}

const insert = `
  insert into onceward.rebuild_key as known (consumer_id, key, found, wanted)
  select run.consumer_id, hole.*
  from unnest($1::text[], $2::bigint[], $3::bigint[]) as hole (key, found, wanted),
    onceward.run where run.id = current_setting('onceward.run')::integer
  on conflict (consumer_id, key) do update set wanted = greatest(known.wanted, excluded.wanted)`

export async function insertRebuildKeys(tx: SqlTransaction, keys: readonly RebuildKey[]): Promise<void> {
  await tx.query(insert, [
    keys.map(({ key }) => key),
    keys.map(({ found }) => found),
    keys.map(({ wanted }) => wanted),
  ])
}
