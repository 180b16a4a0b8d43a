import { acts } from '../../drivers/postgres/acts.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { act } from '../act.ts'

export interface Classification {
  readonly consumer: string
  readonly ids: readonly string[]
  readonly label?: string | undefined
  readonly assignee?: string | undefined
  readonly note?: string | undefined
}

/** Fields that are not given stay unchanged. */
export function classifyParked(
  pool: SqlPool,
  { consumer, ids, label, assignee, note }: Classification,
): Promise<{ readonly rows: number }> {
  return act(pool, acts.classifyParked, [consumer, ids, label ?? null, assignee ?? null, note ?? null])
}
