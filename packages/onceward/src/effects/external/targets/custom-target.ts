import type { CustomTarget } from '../../../contract/external-target.ts'
import { errorText } from '../../../errors.ts'
import { bytesDigest } from '../../../message/digest.ts'
import { changedBytes } from './http-target.ts'
import type { Send } from './target.ts'

const results = ['completed', 'retryable', 'unknown', 'failed']

/**
 * The user's own call. It is believed when it says something it may say; everything else may have happened.
 */
export function customSend(name: string, { call }: CustomTarget): Send {
  return async ({ key, body, contentType, requestDigest, attempts }, { signal, log }) => {
    const changed = changedBytes(body, requestDigest)
    if (changed !== null) return changed
    try {
      const made = call({ key, body, contentType, attempt: attempts }, { target: name, signal, log })
      const { result, note, retryAfterMs, response } = await orAborted(made, signal)
      if (!results.includes(result)) throw new Error(`call answered "${String(result)}", which is no outcome`)
      return {
        kind: 'told',
        result,
        status: null,
        digest: response === undefined ? null : bytesDigest(Buffer.from(response)),
        note: note === undefined ? null : errorText(note, 500),
        retryAfterMs: pauseOf(retryAfterMs),
      }
    } catch (error) {
      return { kind: 'lost', error: errorText(error, 500) }
    }
  }
}

/** A header that was not there becomes NaN easily: what is no time is no wish. */
function pauseOf(retryAfterMs: unknown): number | null {
  return typeof retryAfterMs === 'number' && retryAfterMs >= 0 ? retryAfterMs : null
}

/**
 * A function that does not heed the signal is left behind: what it still does counts as having been under
 * way.
 */
export function orAborted<T>(made: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  promise.catch(() => {})
  return Promise.race([made, promise]).finally(() => signal.removeEventListener('abort', abort))
}
