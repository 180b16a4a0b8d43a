import type { CustomTarget } from '../../../contract/external-target.ts'
import { errorText } from '../../../errors.ts'
import { bytesDigest } from '../../../message/digest.ts'
import { changedBytes } from './http-target.ts'
import type { Send } from './target.ts'

const results = ['completed', 'retryable', 'unknown', 'failed']

/** The user's own call. A valid result is believed. Any other outcome may have taken effect. */
export function customSend(name: string, { call }: CustomTarget): Send {
  return async ({ key, body, contentType, requestDigest, attempts }, { signal, log }) => {
    const changed = changedBytes(body, requestDigest)
    if (changed !== null) return changed
    try {
      const made = call({ key, body, contentType, attempt: attempts }, { target: name, signal, log })
      const { result, note, retryAfterMs, response } = await orAborted(made, signal)
      if (!results.includes(result))
        throw new Error(`call returned "${String(result)}", which is not a valid result`)
      return {
        kind: 'reported',
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

/** A missing header easily becomes NaN. An invalid delay counts as none. */
function pauseOf(retryAfterMs: unknown): number | null {
  return typeof retryAfterMs === 'number' && retryAfterMs >= 0 ? retryAfterMs : null
}

/**
 * Does not wait for a function that ignores the signal. Its later work counts as part of the aborted call.
 */
export function orAborted<T>(made: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  promise.catch(() => {})
  return Promise.race([made, promise]).finally(() => signal.removeEventListener('abort', abort))
}
