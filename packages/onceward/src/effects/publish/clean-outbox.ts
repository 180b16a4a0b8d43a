import type { SqlPool } from '../../drivers/postgres/pool.ts'
import type { Environment } from '../../environment.ts'
import { WorkLoop } from '../work-loop.ts'

/** Looks only at the front of each bucket, so a look costs the same however much is kept. */
const removeOld = `
  delete from onceward.outbox using (
    select front.bucket, front.id from generate_series(0, 31) as every (bucket) cross join lateral (
      select bucket, id, created_at from onceward.outbox where destination = 'cdc' and outbox.bucket = every.bucket
      order by id limit 100
    ) as front where front.created_at < clock_timestamp() - $1::double precision * interval '1 millisecond'
  ) as old where destination = 'cdc' and outbox.bucket = old.bucket and outbox.id = old.id`

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
    look: async () => {
      const { rowCount } = await pool.query(removeOld, [keepMs])
      return { found: false, more: (rowCount ?? 0) >= 100 }
    },
    idle: () => true,
    leaving: 'after the look',
    who: { broker: 'cdc' },
    words: {
      away: 'database away, old rows of the outbox stay',
      halted: 'cleaner of the outbox halted; rows stay',
    },
  })
}
