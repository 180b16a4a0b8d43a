import type { Enrolment } from '../contracts/store.ts'
import type { BreakerView } from '../engine/breaker.ts'
import { errorText } from '../errors.ts'
import type { SqlPool } from '../stores/postgres/pool.ts'
import type { Log } from '../surroundings.ts'

/** Writes down that a run has paused its source, for "onceward status". Nothing depends on it: when it fails, the log has the same. */
export function recordOutages(pool: SqlPool, log: Log) {
  let last: Promise<unknown> = Promise.resolve()
  return ({ runId }: Enrolment, outage: BreakerView | null): void => {
    const text = `
      update onceward.run set paused_since = case when $2::text is not null then clock_timestamp() end, paused_because = $2 where id = $1`
    const because = outage === null ? null : outage.code.slice(0, 100)
    last = last
      .then(() => pool.query(text, [runId, because]))
      .catch(error => log.warn('pause not recorded', { run: runId, error: errorText(error) }))
  }
}
