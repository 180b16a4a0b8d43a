import type { SqlTransaction } from '../../contract/handler.ts'
import { insertRebuildKeys, type RebuildKey } from '../../drivers/postgres/projection/insert-rebuild-keys.ts'
import type { WalkedKey } from './resolve-gaps.ts'

/**
 * The rebuild of a key is done when its row has reached the recorded version. Later facts after the gap only
 * raise that version.
 */
export async function recordRebuilds<M>(walked: readonly WalkedKey<M>[], tx: SqlTransaction): Promise<void> {
  const holes: RebuildKey[] = []
  for (const { key, standing, walk } of walked) {
    let wanted: bigint | null = null
    for (const [{ version }, { code }] of walk.verdicts) if (code === 'rebuild') wanted = version
    const found = walk.steps.at(-1)?.fact.version ?? standing?.version ?? null
    if (wanted !== null) holes.push({ key: key.name, found, wanted })
  }
  await insertRebuildKeys(tx, holes)
}
