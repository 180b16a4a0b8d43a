import { errorText } from '../../errors.ts'
import { bytesDigest } from '../../message/digest.ts'
import type { Timers } from '../../surroundings.ts'
import type { ClaimedEffect } from './claim-effects.ts'
import type { Target } from './target.ts'

/** What one call came to, before anybody judges it. */
export type Answer =
  | {
      readonly kind: 'answered'
      readonly status: number
      readonly digest: Buffer
      /** `capped`: we stopped reading. `broken`: it ended too early. */
      readonly reply: 'whole' | 'capped' | 'broken'
      readonly retryAfterMs: number | null
    }
  /** No byte of the request can have arrived. */
  | { readonly kind: 'not reached'; readonly error: string }
  /** It may have arrived, and may have taken effect. */
  | { readonly kind: 'lost'; readonly error: string }
  /** This row can never be sent as it is. */
  | { readonly kind: 'not sendable'; readonly error: string }

export const replyBytesMax = 64 * 1024
/** Visible ASCII, no space at either end: HTTP would trim or refuse the rest, and a trimmed key is another key. */
const sendableKey = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/

/** One HTTP call: the stored bytes, the stored key, no redirects, one deadline over everything including the reply's body. */
export async function callTarget(
  target: Target,
  effect: ClaimedEffect,
  timers: Timers,
  leaving: AbortSignal,
): Promise<Answer> {
  const unsendable = problemOf(effect)
  if (unsendable !== null) return { kind: 'not sendable', error: unsendable }
  const abort = new AbortController()
  const leave = () => abort.abort(leaving.reason)
  leaving.addEventListener('abort', leave, { once: true })
  const cancel = timers.after(target.timeoutMs, () => {
    abort.abort(new Error(`no complete answer within ${target.timeoutMs} ms`))
  })
  try {
    const response = await fetch(target.url, {
      method: target.method,
      headers: headersOf(target, effect),
      body: effect.body as Buffer<ArrayBuffer>,
      redirect: 'manual',
      signal: abort.signal,
    })
    return await readReply(response)
  } catch (error) {
    return failureOf(error)
  } finally {
    cancel()
    leaving.removeEventListener('abort', leave)
  }
}

function problemOf(effect: ClaimedEffect): string | null {
  if (!sendableKey.test(effect.key)) {
    return 'The key cannot be an HTTP header value: only visible ASCII, without spaces at its ends, reaches the target unchanged. Nothing was sent.'
  }
  if (!bytesDigest(effect.body).equals(effect.requestDigest)) {
    return 'The stored bytes are not those the intent was recorded with. Nothing was sent. Find out who changed the row.'
  }
  return null
}

function headersOf(target: Target, effect: ClaimedEffect): Headers {
  const headers = new Headers(target.headers)
  headers.set('content-type', effect.contentType)
  headers.set(target.keyHeader, effect.key)
  return headers
}

async function readReply(response: Response): Promise<Answer> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  let reply: 'whole' | 'capped' | 'broken' = 'whole'
  try {
    // Leaving the loop cancels the body, which closes the connection of a reply without end.
    for await (const chunk of response.body ?? []) {
      chunks.push(chunk)
      bytes += chunk.byteLength
      if (bytes > replyBytesMax) {
        reply = 'capped'
        break
      }
    }
  } catch {
    reply = 'broken'
  }
  const digest = bytesDigest(Buffer.concat(chunks).subarray(0, replyBytesMax))
  return {
    kind: 'answered',
    status: response.status,
    digest,
    reply,
    retryAfterMs: retryAfterMs(response.headers),
  }
}

/** A date is taken relative to the target's own Date header, so that our clock has no say. */
function retryAfterMs(headers: Headers): number | null {
  const value = headers.get('retry-after')
  if (value === null) return null
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1_000
  const waitMs = Date.parse(value) - Date.parse(headers.get('date') ?? '')
  return Number.isNaN(waitMs) ? null : Math.max(0, waitMs)
}

const certificateTrouble = /^(CERT_|ERR_TLS_CERT|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/

/** Lost unless proven otherwise: only a connection that was never made proves that nothing was sent. */
function failureOf(error: unknown): Answer {
  const cause = (error as { cause?: unknown }).cause ?? error
  const { code = '', syscall } = cause as { code?: string; syscall?: string }
  const causes = cause instanceof AggregateError ? (cause.errors as { syscall?: string }[]) : [{ syscall }]
  const text = errorText(cause, 500)
  if (cause instanceof Error && cause.message === 'bad port') return { kind: 'not sendable', error: text }
  const neverConnected = causes.every(one => one.syscall === 'connect' || one.syscall === 'getaddrinfo')
  const unconnected = neverConnected || code === 'UND_ERR_CONNECT_TIMEOUT' || certificateTrouble.test(code)
  return { kind: unconnected ? 'not reached' : 'lost', error: text }
}
