import type { Environment } from '../environment.ts'
import { errorCode, OncewardError } from '../errors.ts'

export interface StartOptions {
  /** How long a start waits for an unreachable server. Default: no limit. */
  readonly startTimeoutMs?: number | undefined
  /** Aborts a start: it closes everything and rejects with `start_aborted`. */
  readonly signal?: AbortSignal | undefined
}

const delayMinMs = 250
const delayMaxMs = 5_000

/**
 * Retries a start while a server is unavailable: `database_unreachable` and `broker_unreachable` are retried,
 * every other error rejects. `start` must close everything when it rejects; its signal ends waits inside it.
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
        // An attempt that the limit aborted has no cause; the one before names the unavailable server.
        if (late.signal.aborted) throw waitedLongEnough(last ?? error, startTimeoutMs!)
        last = error
        log.warn('waiting for an unreachable server', { code: error.code, error: error.message })
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
    `The start was aborted after ${startTimeoutMs / 1_000} s. ${cause.message}`,
    { cause, details: cause.details },
  )
}

function tooSlow(startTimeoutMs: number): OncewardError {
  return new OncewardError(
    'start_aborted',
    `The start did not end within ${startTimeoutMs / 1_000} s. Everything started was stopped; unacknowledged messages are redelivered, and nothing is lost. Find the cause of the wait, or raise the limit.`,
  )
}

function startAborted(cause?: unknown): OncewardError {
  return new OncewardError(
    'start_aborted',
    'The process was stopped before it had started. Unacknowledged messages are redelivered, and nothing is lost.',
    { cause, details: { during: cause === undefined ? null : errorCode(cause) } },
  )
}
