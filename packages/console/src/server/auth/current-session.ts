import { cookieNames, isSecure, readCookie, writeCookie } from '../http/cookies.ts'
import type { Parts } from '../parts.ts'
import { proxyIdentity } from './proxy-identity.ts'
import type { Session } from './sessions.ts'

/** A request that an open page makes by itself has this header. It does not keep the session open. */
export const backgroundHeader = 'x-onceward-background'

/**
 * The session of a request, and a cookie to set when it is new. Null without a signed-in person. Requests are
 * counted by person: a client of a proxy that keeps no cookies opens no session before that.
 */
export function currentSession(
  { options: { auth }, sessions, limits }: Parts,
  request: Request,
  isLive = false,
): { readonly session: Session; readonly cookie: string | null } | null {
  const { session: name } = cookieNames(auth)
  const id = readCookie(request, name)
  const counts = !isLive && request.headers.get(backgroundHeader) === null
  const known = sessions.find(id, counts)
  const next = known === null || id === undefined ? null : sessions.rotate(id)
  const cookie = next === null ? null : writeCookie(name, next, isSecure(auth))
  if (auth.kind !== 'proxy') {
    if (known === null) return null
    limits.assertPerson(known.identity)
    return { session: known, cookie }
  }
  const named = proxyIdentity(auth, request.headers)
  if (named === null) return null
  limits.assertPerson(named.identity)
  const isSame = known?.identity.name === named.identity.name
  // The proxy decides about rights at every request; the session only carries the CSRF token.
  if (isSame && JSON.stringify(known!.rights) === JSON.stringify(named.rights))
    return { session: known!, cookie }
  const opened = sessions.open(named.identity, named.rights, id)
  return { session: opened.session, cookie: writeCookie(name, opened.id, isSecure(auth)) }
}
