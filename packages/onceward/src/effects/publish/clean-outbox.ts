import { removeOldRows } from '../../drivers/postgres/outbox/remove-old-rows.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import type { Environment } from '../../environment.ts'
import { WorkLoop } from '../work-loop.ts'

export interface CleanerOptions {
  readonly pool: SqlPool
  readonly env: Environment
  /**
   * How long rows stay after they were written. Default 1 h. A connector reads them from the log, so it loses
   * none when they are removed.
   */
  readonly keepMs?: number
}

/** Removes rows that were kept for change data capture. */
export function createOutboxCleaner({ pool, env, keepMs = 3_600_000 }: CleanerOptions): WorkLoop {
  return new WorkLoop({
    pool,
    env,
    poll: async () => ({ found: false, more: (await removeOldRows(pool, keepMs)) >= 100 }),
    idle: () => true,
    leaving: 'after the poll',
    logFields: { broker: 'cdc' },
    logMessages: {
      unavailable: 'database unavailable; old outbox rows stay',
      halted: 'outbox cleaner halted; rows stay',
    },
  })
}
