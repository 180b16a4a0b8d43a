import type { ConsoleAuth } from '../auth/auth.ts'
import { Problem } from './problem.ts'

const loopback = /^(localhost|127(?:\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/

/**
 * The host of a request must be the console's own: another name that resolves to this address (DNS rebinding)
 * is refused. An act must come from a page of the same origin.
 */
export function assertOrigin(auth: ConsoleAuth, request: Request): void {
  const host = request.headers.get('host') ?? new URL(request.url).host
  const own = ownOrigin(auth, host)
  if (own === null)
    throw new Problem(421, 'wrong_host', `This console does not answer for ${JSON.stringify(host)}.`)
  if (request.method === 'GET' || request.method === 'HEAD') return
  const origin = request.headers.get('origin')
  const site = request.headers.get('sec-fetch-site')
  if (origin !== own || (site !== null && site !== 'same-origin'))
    throw new Problem(403, 'foreign_origin', 'The request came from another site. Nothing was changed.')
}

/** Null for a host that is not the console's. */
export function ownOrigin(auth: ConsoleAuth, host: string): string | null {
  if (auth.kind === 'link') return loopback.test(host) ? `http://${host}` : null
  const { origin } = new URL(auth.origin)
  return new URL(auth.origin).host === host ? origin : null
}
