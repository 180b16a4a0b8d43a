import type { Pool } from 'undici'
import type { Answer } from '../answer.ts'
import type { SendContext } from '../targets/target.ts'
import { guardedLookup, type Resolve } from './address-guard.ts'
import { HttpCall } from './http-call.ts'

/** The address and transport settings of a target. */
export interface HttpEndpoint {
  readonly url: URL
  readonly method: string
  readonly replayedHeader: string
  readonly allowPrivate: boolean
  /**
   * The target may close a kept connection just as a call is sent: the call is then lost without having been
   * read. This is harmless with a key, and three times as fast. Without a key every call opens its own
   * connection.
   */
  readonly keepConnections: boolean
  readonly connectionsMax: number
  /** The time-out of a call. A connection that is not open by then is abandoned. */
  readonly timeoutMs: number
  readonly resolve?: Resolve
}

export type SendHttp = (
  headers: Readonly<Record<string, string>>,
  body: Buffer,
  context: Pick<SendContext, 'signal' | 'expired'>,
) => Promise<Answer>

/**
 * One call per connection at a time, so a broken connection affects one call. No redirects, HTTP/1.1 only.
 * The caller enforces the deadline of the whole call.
 */
export function openHttp(endpoint: HttpEndpoint): SendHttp {
  const { url, method, replayedHeader } = endpoint
  const pool = openPool(endpoint)
  pool.catch(() => {})
  const path = `${url.pathname}${url.search}`
  return (headers, body, context) => {
    const call = new HttpCall(replayedHeader, context)
    pool.then(
      open => open.dispatch({ method, path, headers, body }, call),
      error => call.fail(error),
    )
    return call.answer
  }
}

/** Loads undici only when there is a target to call: loading it takes as long as loading everything else. */
async function openPool(endpoint: HttpEndpoint): Promise<Pool> {
  const { Pool } = await import('undici')
  return new Pool(endpoint.url.origin, {
    connections: endpoint.connectionsMax,
    pipelining: endpoint.keepConnections ? 1 : 0,
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: {
      timeout: endpoint.timeoutMs,
      rejectUnauthorized: true,
      minVersion: 'TLSv1.2',
      ...(!endpoint.allowPrivate && { lookup: guardedLookup(endpoint.resolve) }),
    },
  })
}
