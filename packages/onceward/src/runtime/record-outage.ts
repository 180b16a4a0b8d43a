import type { SqlPool } from '../drivers/postgres/pool.ts'
import type { BreakerView } from '../engine/retry/breaker.ts'
import type { Log } from '../environment.ts'
import { errorText } from '../errors.ts'
import type { Enrolment } from '../ports/store.ts'

const pause = 'update onceward.run set paused_since = clock_timestamp(), paused_reason = $2 where id = $1'
const resume = `
  update onceward.run set paused_since = null, paused_reason = null where id = any($1::integer[])`

/**
 * Writes down that a run has paused its source, for "onceward status". Nothing depends on it: when it fails,
 * the log has the same. The one that notices the end may be another part of the process than the one that
 * noticed the outage.
 */
export function recordOutages(pool: SqlPool, log: Log) {
  const paused = new Set<number>()
  let last: Promise<unknown> = Promise.resolve()
  return ({ runId }: Enrolment, outage: BreakerView | null): void => {
    const runs = [...paused]
    if (outage === null) paused.clear()
    else paused.add(runId)
    last = last
      .then(() =>
        outage === null ? pool.query(resume, [runs]) : pool.query(pause, [runId, outage.code.slice(0, 100)]),
      )
      .catch(error => log.warn('pause not recorded', { run: runId, error: errorText(error) }))
  }
}
