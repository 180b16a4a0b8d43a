import type { Environment } from '../environment.ts'
import { errorCode, OncewardError } from '../errors.ts'

export interface StartOptions {
  /** How long a start waits for a server that cannot be reached. Default: as long as it takes. */
  readonly startTimeoutMs?: number | undefined
  /** Gives up a start that is under way: it leaves nothing behind and rejects with `start_aborted`. */
  readonly signal?: AbortSignal | undefined
}

const delayMinMs = 250
const delayMaxMs = 5_000

/**
 * Starts again while a server is away, as a process waits that loses it later: `database_unreachable` and
 * `broker_unreachable` are tried again, every other error is the answer. `start` leaves nothing behind when
 * it rejects; its signal ends the waiting inside of it.
 */
export async function startPatiently<T>(
  start: (signal: AbortSignal) => Promise<T>,
  { startTimeoutMs, signal }: StartOptions,
  { timers, random, log }: Pick<Environment, 'timers' | 'random' | 'log'>,
): Promise<T> {
  const late = new AbortController()
  const cancel =
    startTimeoutMs === undefined
      ? () => {}
      : timers.after(startTimeoutMs, () => late.abort(tooSlow(startTimeoutMs)))
  const over = signal === undefined ? late.signal : AbortSignal.any([late.signal, signal])
  try {
    let last: OncewardError | null = null
    for (let failures = 0; ; failures++) {
      if (signal?.aborted) throw startAborted()
      try {
        return await start(over)
      } catch (error) {
        if (signal?.aborted) throw startAborted(error)
        if (!isAway(error)) throw error
        // A try that the limit cut off says only that; the one before says what is away.
        if (late.signal.aborted) throw waitedLongEnough(last ?? error, startTimeoutMs!)
        last = error
        log.warn('waiting for a server that cannot be reached', { code: error.code, error: error.message })
        await pause(Math.min(delayMaxMs, delayMinMs * 2 ** failures) * (0.5 + random() / 2), over, timers)
        if (late.signal.aborted && !signal?.aborted) throw waitedLongEnough(error, startTimeoutMs!)
      }
    }
  } finally {
    cancel()
  }
}

function isAway(error: unknown): error is OncewardError {
  return (
    error instanceof OncewardError &&
    (error.code === 'database_unreachable' || error.code === 'broker_unreachable')
  )
}

function pause(delayMs: number, over: AbortSignal, timers: Environment['timers']): Promise<void> {
  return new Promise(resolve => {
    if (over.aborted) return resolve()
    const end = () => {
      cancel()
      over.removeEventListener('abort', end)
      resolve()
    }
    const cancel = timers.after(delayMs, end)
    over.addEventListener('abort', end)
  })
}

function waitedLongEnough(cause: OncewardError, startTimeoutMs: number): OncewardError {
  return new OncewardError(
    cause.code,
    `The start was given up after ${startTimeoutMs / 1_000} s. ${cause.message}`,
    { cause, details: cause.details },
  )
}

function tooSlow(startTimeoutMs: number): OncewardError {
  return new OncewardError(
    'start_aborted',
    `The start did not end within ${startTimeoutMs / 1_000} s. What had begun was stopped; messages that were not settled go back, and nothing is lost. Look for what it waits for, or allow more time.`,
  )
}

function startAborted(cause?: unknown): OncewardError {
  return new OncewardError(
    'start_aborted',
    'The process was stopped before it had started. Messages that were not settled go back, and nothing is lost.',
    { cause, details: { during: cause === undefined ? null : errorCode(cause) } },
  )
}
