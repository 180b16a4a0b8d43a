import { OncewardError } from '../../errors.ts'

/** Refuses an address no broker can be behind. Never repeats the password. */
export function assertUrl(url: string | undefined, purpose: string): string {
  if (url !== undefined && parse(url) !== null) return url
  const found =
    url === undefined
      ? 'none was given'
      : 'the one given cannot be read as such (a # or / in the password is written %23 or %2F)'
  throw new OncewardError(
    'configuration',
    `${purpose} needs a URL like amqp://user:password@host:5672/vhost; ${found}. Nothing was opened.`,
  )
}

/** The virtual host of an AMQP address. */
export function virtualHostOf(url: string): string {
  return parse(assertUrl(url, 'RabbitMQ'))!.virtualHost
}

/** Host, port and virtual host: what may be shown and compared. */
export function addressOf(url: string): string {
  const { protocol, hostname, port, virtualHost } = parse(assertUrl(url, 'RabbitMQ'))!
  return `${hostname}:${port || (protocol === 'amqps:' ? 5671 : 5672)}/${virtualHost}`
}

interface Parsed {
  readonly protocol: string
  readonly hostname: string
  readonly port: string
  readonly virtualHost: string
}

/** The error of a URL that cannot be read shows all of it, so none is let out. */
function parse(url: string): Parsed | null {
  const parsed = URL.parse(url)
  if (parsed === null || !/^amqps?:$/.test(parsed.protocol) || parsed.hostname === '') return null
  const { protocol, hostname, port, pathname } = parsed
  try {
    return { protocol, hostname, port, virtualHost: decodeURIComponent(pathname.slice(1)) || '/' }
  } catch {
    return null
  }
}
