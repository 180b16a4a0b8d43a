import type { ConsoleAuth } from '../auth/auth.ts'

/** Cookies with the prefix `__Host-` cannot be set by another host or over plain HTTP. */
export function cookieNames(auth: ConsoleAuth): { readonly session: string; readonly signIn: string } {
  const prefix = isSecure(auth) ? '__Host-' : ''
  return { session: `${prefix}onceward-session`, signIn: `${prefix}onceward-sign-in` }
}

export function isSecure(auth: ConsoleAuth): boolean {
  return auth.kind !== 'link' && new URL(auth.origin).protocol === 'https:'
}

export function readCookie(request: Request, name: string): string | undefined {
  const pairs = (request.headers.get('cookie') ?? '').split(';').map(pair => pair.trim())
  return pairs.find(pair => pair.startsWith(`${name}=`))?.slice(name.length + 1)
}

/** Lax, not strict: after OpenID Connect the browser comes back from another site. */
export function writeCookie(name: string, value: string, secure: boolean, maxAge?: number): string {
  const parts = [`${name}=${value}`, 'Path=/', 'HttpOnly', 'SameSite=Lax']
  if (secure) parts.push('Secure')
  if (maxAge !== undefined) parts.push(`Max-Age=${maxAge}`)
  return parts.join('; ')
}
