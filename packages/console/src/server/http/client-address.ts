import type { ConsoleAuth } from '../auth/auth.ts'

/** What a server of Node passes with a web request. */
interface NodeBindings {
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: string | undefined } }
}

/**
 * The address that a request came from, for limits. Behind a proxy it is the last one in the header that the
 * configuration names: that one the proxy has written itself. An IPv6 network counts as one client.
 */
export function clientAddress(auth: ConsoleAuth, headers: Headers, bindings: unknown): string {
  const named = auth.kind === 'link' ? undefined : auth.addressHeader
  const forwarded = named === undefined ? undefined : headers.get(named)?.split(',').at(-1)?.trim()
  const address = forwarded || ((bindings ?? {}) as NodeBindings).incoming?.socket?.remoteAddress
  if (address === undefined) return 'unknown'
  const plain = address.replace(/^::ffff:(?=\d+\.)/, '').toLowerCase()
  return plain.includes(':') ? networkOf(plain) : plain
}

/** The first four groups of an IPv6 address. */
function networkOf(address: string): string {
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  const rest = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros =
    tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - groups.length - rest.length) }, () => '0')
  return [...groups, ...zeros, ...rest].slice(0, 4).join(':')
}
