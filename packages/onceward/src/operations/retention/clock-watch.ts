import { durationText } from '../../contract/duration.ts'
import { clockToleranceMs } from '../../contract/retention.ts'
import type { Clock } from '../../environment.ts'
import { OncewardError } from '../../errors.ts'

/**
 * Clocks that may forbid a removal. None of them ever decides what is removed: that is the database's alone.
 */
export interface ClockWatch {
  /** This machine's idea of the date. */
  readonly wallMs: () => number
  /** Runs evenly. */
  readonly clock: Clock
  /** What an earlier look of this process saw; the first one leaves it here. */
  seen?: { readonly databaseMs: number; readonly clockMs: number }
}

/**
 * A database whose date has jumped ahead would have us forget everything at once. So nothing is removed when
 * its date and ours are more than an hour apart, or when it has moved otherwise than time did since this
 * process first looked.
 */
export function assertClocksAgree(watch: ClockWatch, databaseMs: number, consumer: string): void {
  const clockMs = watch.clock.nowMs()
  watch.seen ??= { databaseMs, clockMs }
  const apartMs = databaseMs - watch.wallMs()
  const jumpedMs = databaseMs - watch.seen.databaseMs - (clockMs - watch.seen.clockMs)
  const wrong =
    Math.abs(apartMs) > clockToleranceMs
      ? `the database's clock is ${offText(apartMs)} this process's`
      : Math.abs(jumpedMs) > clockToleranceMs
        ? `the database's clock is ${offText(jumpedMs)} where it should be since this process first looked`
        : null
  if (wrong === null) return
  throw new OncewardError(
    'clocks_disagree',
    `Nothing of consumer ${consumer} was removed: ${wrong}. With a wrong date too much would be forgotten. Set the clocks right, then start this process again; consuming goes on meanwhile.`,
    { details: { apartMs, jumpedMs } },
  )
}

function offText(ms: number): string {
  return `${durationText(Math.round(Math.abs(ms)))} ${ms > 0 ? 'ahead of' : 'behind'}`
}
