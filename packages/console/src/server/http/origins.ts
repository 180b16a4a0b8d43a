import type { ConsoleAuth } from '../auth/auth.ts'
import { Problem } from './problem.ts'

const loopback = /^(localhost|127(?:\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/

/**
 * The host of a request must be the console's own: another name that resolves to this address (DNS rebinding)
 * is refused.
 */
export function assertHost(auth: ConsoleAuth, request: Request): void {
  const host = hostOf(request)
  if (ownOrigin(auth, host) === null)
    throw new Problem(421, 'wrong_host', `This console does not answer for ${JSON.stringify(host)}.`)
}

/** An act must come from a page of the same origin. */
export function assertOrigin(auth: ConsoleAuth, request: Request): void {
  if (request.method === 'GET' || request.method === 'HEAD') return
  const origin = request.headers.get('origin')
  const site = request.headers.get('sec-fetch-site')
  if (origin !== ownOrigin(auth, hostOf(request)) || (site !== null && site !== 'same-origin'))
    throw new Problem(403, 'foreign_origin', 'The request came from another site. Nothing was changed.')
}

const hostOf = (request: Request) => request.headers.get('host') ?? new URL(request.url).host

/** Null for a host that is not the console's. */
export function ownOrigin(auth: ConsoleAuth, host: string): string | null {
  if (auth.kind === 'link') return loopback.test(host) ? `http://${host}` : null
  const { origin } = new URL(auth.origin)
  return new URL(auth.origin).host === host ? origin : null
}
