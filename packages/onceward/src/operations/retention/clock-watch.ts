import { durationText } from '../../contract/duration.ts'
import { clockToleranceMs } from '../../contract/retention.ts'
import type { Clock } from '../../environment.ts'
import { OncewardError } from '../../errors.ts'

/**
 * Clocks that may forbid a removal. Only the database's clock decides which rows are old.
 */
export interface ClockWatch {
  /** Wall clock of this machine. */
  readonly wallMs: () => number
  /** Monotonic clock. */
  readonly clock: Clock
  /** Clocks at the first check of this process. */
  seen?: { readonly databaseMs: number; readonly clockMs: number }
}

/**
 * If the database's date jumped ahead, retention would remove everything at once. So nothing is removed when
 * the two dates are more than an hour apart, or when the database's clock has moved more than an hour
 * differently from elapsed time since the first check.
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
        ? `the database's clock is ${offText(jumpedMs)} the time expected since the first check of this process`
        : null
  if (wrong === null) return
  throw new OncewardError(
    'clocks_disagree',
    `Nothing of consumer ${consumer} was removed: ${wrong}. With a wrong date, rows would be removed too early. Correct the clocks, then restart this process; consuming continues meanwhile.`,
    { details: { apartMs, jumpedMs } },
  )
}

function offText(ms: number): string {
  return `${durationText(Math.round(Math.abs(ms)))} ${ms > 0 ? 'ahead of' : 'behind'}`
}
