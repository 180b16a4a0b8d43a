import type { Running } from '../../../runtime/run-consumer.ts'
import type { Health } from '../../../runtime/run-health.ts'
import { type RunReport, sumReports } from './run-report.ts'

/** Consumers of one process: they start, drain and end together. */
export interface RunningTogether extends Pick<Running, 'drain' | 'leave' | 'health' | 'finished'> {
  /** The counts of one consumer; of several, their sum and those of each by name. */
  report(): RunReport
}

/** Starts all of them, or none: if one cannot start, those that run are drained. */
export async function startTogether(
  names: readonly string[],
  start: (index: number) => Promise<Running>,
): Promise<RunningTogether> {
  const started = await Promise.allSettled(names.map((_, index) => start(index)))
  const running = started.filter(one => one.status === 'fulfilled').map(({ value }) => value)
  const drain = async (deadlineMs?: number) => {
    await Promise.all(running.map(one => one.drain(deadlineMs)))
  }
  const failed = started.find(one => one.status === 'rejected')
  if (failed !== undefined) {
    await drain().catch(() => {})
    throw failed.reason
  }
  // A consumer that halts would otherwise stand unnoticed beside those that work.
  for (const { finished } of running)
    finished
      .then(
        () => drain(),
        () => drain(),
      )
      .catch(() => {})
  return {
    drain,
    leave: () => running.forEach(one => void one.leave()),
    health: () =>
      running.length === 1
        ? running[0]!.health()
        : together(
            names,
            running.map(one => one.health()),
          ),
    finished: allEnded(running),
    report: () => reportOf(names, running),
  }
}

/** Rejects with the first failure, after all have ended. */
async function allEnded(running: readonly Running[]): Promise<void> {
  const ends = await Promise.allSettled(running.map(({ finished }) => finished))
  const failed = ends.find(end => end.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

/** Ready when all are; the oldest age of any. */
export function together(names: readonly string[], all: readonly Health[]): Health {
  const longest = (ages: readonly (number | null)[]) => {
    const known = ages.filter(age => age !== null)
    return known.length === 0 ? null : Math.max(...known)
  }
  return {
    ready: all.every(({ ready }) => ready),
    reasons: all.flatMap(({ reasons }, index) => reasons.map(reason => `${names[index]}: ${reason}`)),
    oldestUnfinishedSeconds: longest(all.map(one => one.oldestUnfinishedSeconds)),
    stalledSeconds: longest(all.map(one => one.stalledSeconds)),
  }
}

function reportOf(names: readonly string[], running: readonly Running[]): RunReport {
  const reports = running.map(({ consumer, worker }): RunReport => {
    const worked = worker?.tally.outcomes
    return { ...consumer?.tally, ...(worked && { worked }) }
  })
  if (reports.length === 1) return reports[0]!
  const consumers = Object.fromEntries(names.map((name, index) => [name, reports[index]!]))
  return { ...sumReports(reports), consumers }
}
