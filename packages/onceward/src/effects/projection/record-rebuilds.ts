import type { SqlTransaction } from '../../contract/handler.ts'
import type { WalkedKey } from './resolve-gaps.ts'

const insertKeys = `
  insert into onceward.rebuild_key as known (consumer_id, key, found, wanted)
  select run.consumer_id, hole.*
  from unnest($1::text[], $2::bigint[], $3::bigint[]) as hole (key, found, wanted),
    onceward.run where run.id = current_setting('onceward.run')::integer
  on conflict (consumer_id, key) do update set wanted = greatest(known.wanted, excluded.wanted)`

/**
 * The rebuild of a key is done when its row has reached the version wanted here: later facts beyond the hole
 * only raise it.
 */
export async function recordRebuilds<M>(walked: readonly WalkedKey<M>[], tx: SqlTransaction): Promise<void> {
  const holes: { key: string; found: bigint | null; wanted: bigint }[] = []
  for (const { key, standing, walk } of walked) {
    let wanted: bigint | null = null
    for (const [{ version }, { code }] of walk.verdicts) if (code === 'rebuild') wanted = version
    const found = walk.steps.at(-1)?.fact.version ?? standing?.version ?? null
    if (wanted !== null) holes.push({ key: key.name, found, wanted })
  }
  await tx.query(insertKeys, [
    holes.map(({ key }) => key),
    holes.map(({ found }) => found),
    holes.map(({ wanted }) => wanted),
  ])
}
