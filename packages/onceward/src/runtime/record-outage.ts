import type { SqlPool } from '../drivers/postgres/pool.ts'
import { recordPause, recordResumption } from '../drivers/postgres/run/record-pause.ts'
import type { BreakerView } from '../engine/retry/breaker.ts'
import type { Log } from '../environment.ts'
import { errorText } from '../errors.ts'
import type { Enrolment } from '../ports/enrolment.ts'

/**
 * Records that a run has paused its source, for "onceward status". Nothing depends on it: the log has the
 * same facts. The part that detects the end may differ from the part that detected the outage.
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
        outage === null ? recordResumption(pool, runs) : recordPause(pool, runId, outage.code.slice(0, 100)),
      )
      .catch(error => log.warn('pause not recorded', { run: runId, error: errorText(error) }))
  }
}
