import { setTimeout } from 'node:timers/promises'
import type { RedriveReport } from '../../../drivers/postgres/parking/read-redrive.ts'

/** Outcomes that a worker will still change. */
const open = ['waits', 'at work']

const pauseMs = 1_000

interface Watching {
  readonly nowMs?: () => number
  readonly pause?: () => Promise<unknown>
}

/**
 * Reads a redrive again and again, until every message has its outcome or it was stopped and nothing is at
 * work. Prints a line when the counts have changed.
 */
export async function watchRedrive(
  read: () => Promise<Pick<RedriveReport, 'state' | 'outcomes'>>,
  print: (line: string) => void,
  { nowMs = Date.now, pause = () => setTimeout(pauseMs) }: Watching = {},
): Promise<void> {
  let begun: { readonly atMs: number; readonly done: number } | null = null
  let printed = ''
  for (;;) {
    const { state, outcomes } = await read()
    const total = Object.values(outcomes).reduce((sum, count) => sum + count, 0)
    const left = open.reduce((sum, outcome) => sum + (outcomes[outcome] ?? 0), 0)
    begun ??= { atMs: nowMs(), done: total - left }
    const line = progressText(
      outcomes,
      total,
      left,
      (total - left - begun.done) / ((nowMs() - begun.atMs) / 1_000),
    )
    const counts = JSON.stringify(outcomes)
    if (counts !== printed) print(line)
    printed = counts
    if (left === 0 || (state === 'stopped' && (outcomes['at work'] ?? 0) === 0)) return
    await pause()
  }
}

/** `12 of 20,007 done (applied 10, parked again 2), 120/s, about 3 min left`. */
export function progressText(
  outcomes: Readonly<Record<string, number>>,
  total: number,
  left: number,
  perSecond: number,
): string {
  const ended = Object.entries(outcomes).filter(([outcome]) => !open.includes(outcome))
  const counts = ended.map(([outcome, count]) => `${outcome} ${grouped(count)}`).join(', ')
  const rate = Number.isFinite(perSecond) && perSecond > 0
  return [
    `${grouped(total - left)} of ${grouped(total)} done${counts === '' ? '' : ` (${counts})`}`,
    ...(rate && left > 0
      ? [`${perSecond < 10 ? perSecond.toFixed(1) : grouped(Math.round(perSecond))}/s`]
      : []),
    ...(rate && left > 0 ? [`about ${spanText(left / perSecond)} left`] : []),
  ].join(', ')
}

function spanText(seconds: number): string {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`
  return seconds < 5_400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3_600).toFixed(1)} h`
}

function grouped(count: number): string {
  return count.toLocaleString('en-US')
}
