import { createHash, timingSafeEqual } from 'node:crypto'
import { isPersonName } from '../rights/person-name.ts'
import { type Identity, type Rights, rightsOf } from '../rights/rights.ts'
import type { ProxyAuth } from './auth.ts'

const defaults = { secret: 'x-onceward-proxy-secret', user: 'x-forwarded-user', groups: 'x-forwarded-groups' }

/** The person that the proxy names; null without the right secret, without a name or without a grant. */
export function proxyIdentity(
  auth: ProxyAuth,
  headers: Headers,
): { readonly identity: Identity; readonly rights: Rights } | null {
  const names = { ...defaults, ...auth.headers }
  if (!sameSecret(headers.get(names.secret) ?? '', auth.secret)) return null
  const name = headers.get(names.user)?.trim() ?? ''
  if (!isPersonName(name)) return null
  const groups = (headers.get(names.groups) ?? '').split(',').map(group => group.trim())
  const rights = rightsOf(groups, auth.grants)
  return rights === null ? null : { identity: { name, issuer: 'proxy', subject: name }, rights }
}

/** The name in a request that came past the proxy: it does not have the proxy's secret. */
export function forgedName(auth: ProxyAuth, headers: Headers): string | null {
  const names = { ...defaults, ...auth.headers }
  return sameSecret(headers.get(names.secret) ?? '', auth.secret) ? null : headers.get(names.user)
}

function sameSecret(given: string, secret: string): boolean {
  const [one, other] = [given, secret].map(text => createHash('sha256').update(text).digest())
  return given !== '' && timingSafeEqual(one!, other!)
}
