import type { ConsoleAuth } from './auth.ts'

const loopbackHosts = ['localhost', '127.0.0.1', '[::1]']

/** Refuses settings that would let people in unseen: a short secret, or plain HTTP beyond loopback. */
export function assertAuth(auth: ConsoleAuth): void {
  if (auth.kind === 'link') return
  const { protocol, hostname, pathname } = new URL(auth.origin)
  if (pathname !== '/') throw refuse('origin has a path; pass it as basePath')
  if (protocol !== 'https:' && !loopbackHosts.includes(hostname))
    throw refuse('origin is not https; plain HTTP is allowed on loopback only')
  if (auth.kind === 'proxy' && auth.secret.length < 16)
    throw refuse('the secret of the proxy has fewer than 16 characters')
}

function refuse(why: string): Error {
  return new Error(`The console was not created: ${why}.`)
}
