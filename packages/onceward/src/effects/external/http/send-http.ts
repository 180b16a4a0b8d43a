import type { Pool } from 'undici'
import type { Answer } from '../answer.ts'
import type { SendContext } from '../targets/target.ts'
import { guardedLookup, type Resolve } from './address-guard.ts'
import { HttpCall } from './http-call.ts'

/** Where a target's calls go, and how. */
export interface HttpEndpoint {
  readonly url: URL
  readonly method: string
  readonly replayedHeader: string
  readonly allowPrivate: boolean
  /**
   * A kept connection may be closed by the target just as a call leaves: the call is then lost without ever
   * having been read. Harmless under a key, and three times as fast; without one every call gets its own.
   */
  readonly keepConnections: boolean
  readonly connectionsMax: number
  /** The longest a call may take: a connection that does not stand by then is given up. */
  readonly timeoutMs: number
  readonly resolve?: Resolve
}

export type SendHttp = (
  headers: Readonly<Record<string, string>>,
  body: Buffer,
  context: Pick<SendContext, 'signal' | 'expired'>,
) => Promise<Answer>

/**
 * One call on a connection at a time, so that whatever ends one concerns no other; no redirects, HTTP/1.1
 * only. The deadline over all of a call is the caller's.
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

/** Loaded where there is a target to call: it takes as long to load as everything else together. */
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
