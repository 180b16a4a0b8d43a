import { OncewardError } from '../../errors.ts'
import { everyUrl, hostsOf } from '../../ports/broker-url.ts'

/** Rejects an invalid address. Never repeats the password. */
export function assertUrl(url: string | undefined, purpose: string): string {
  if (url !== undefined && parse(url) !== null) return url
  const found =
    url === undefined
      ? 'none was given'
      : 'the given one is not valid (write #, / or @ in the password as %23, %2F or %40)'
  throw new OncewardError(
    'configuration',
    `${purpose} needs a URL like amqp://user:password@host:5672/vhost, or host-a,host-b:5673 for the nodes of a cluster; ${found}. Nothing was opened.`,
  )
}

/** The virtual host of an AMQP address. */
export function virtualHostOf(url: string): string {
  return parse(assertUrl(url, 'RabbitMQ'))!.virtualHost
}

/** Hosts, ports and virtual host: the parts that may be shown and compared. */
export function addressOf(url: string): string {
  const { protocol, virtualHost } = parse(assertUrl(url, 'RabbitMQ'))!
  const hosts = hostsOf(url, protocol === 'amqps:' ? 5671 : 5672)
  return `${hosts.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`).join(',')}/${virtualHost}`
}

interface Parsed {
  readonly protocol: string
  readonly virtualHost: string
}

/** The error of an invalid URL contains the whole URL, so it is never passed on. */
function parse(url: string): Parsed | null {
  const [first] = everyUrl(url)
  if (first === undefined) return null
  const { protocol, pathname, username, password } = new URL(first)
  if (!/^amqps?:$/.test(protocol)) return null
  try {
    // The client library decodes them later, and its error would contain them.
    decodeURIComponent(username + password)
    return { protocol, virtualHost: decodeURIComponent(pathname.slice(1)) || '/' }
  } catch {
    return null
  }
}
