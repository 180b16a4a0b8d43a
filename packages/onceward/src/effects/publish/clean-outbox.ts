import { removeOldRows } from '../../drivers/postgres/outbox/remove-old-rows.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import type { Environment } from '../../environment.ts'
import { WorkLoop } from '../work-loop.ts'

export interface CleanerOptions {
  readonly pool: SqlPool
  readonly env: Environment
  /**
   * How long rows stay after they were written. Default an hour. A connector reads them from the log, so it
   * loses none by their removal.
   */
  readonly keepMs?: number
}

/** Removes rows that were left for change data capture. */
export function createOutboxCleaner({ pool, env, keepMs = 3_600_000 }: CleanerOptions): WorkLoop {
  return new WorkLoop({
    pool,
    env,
    look: async () => ({ found: false, more: (await removeOldRows(pool, keepMs)) >= 100 }),
    idle: () => true,
    leaving: 'after the look',
    who: { broker: 'cdc' },
    words: {
      away: 'database away, old rows of the outbox stay',
      halted: 'cleaner of the outbox halted; rows stay',
    },
  })
}
