import { OncewardError } from '../../errors.ts'
import type { BrokerTls } from '../../tls/broker-tls.ts'
import { splitTls } from '../../tls/tls-url.ts'

/** Where a broker listens for the stream protocol, and as whom to go there. */
export interface StreamAddress {
  readonly host: string
  readonly port: number
  /** Null without TLS. */
  readonly tls: BrokerTls | null
  /** Our certificate says who we are, not user and password. */
  readonly external: boolean
  readonly user: string
  readonly password: string
  readonly vhost: string
}

/** Reads `rabbitmq-stream://user:password@host:5552/vhost`, with `+tls` for TLS. Never repeats the password. */
export function readAddress(url: string | undefined, purpose: string): StreamAddress {
  const parsed = url === undefined ? null : URL.parse(url)
  if (parsed === null || !/^rabbitmq-stream(\+tls)?:$/.test(parsed.protocol) || parsed.hostname === '') {
    throw new OncewardError(
      'configuration',
      `${purpose} needs a URL like rabbitmq-stream://user:password@host:5552/vhost (or rabbitmq-stream+tls://); ${url === undefined ? 'none was given' : 'the one given cannot be read as such'}. Nothing was opened.`,
    )
  }
  const { tls, external } = splitTls(parsed.href, `RabbitMQ streams at ${parsed.host}`)
  const encrypted = parsed.protocol === 'rabbitmq-stream+tls:'
  return {
    host: parsed.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: parsed.port === '' ? (encrypted ? 5551 : 5552) : Number(parsed.port),
    tls: encrypted ? tls : null,
    external,
    user: decodeURIComponent(parsed.username) || 'guest',
    password: decodeURIComponent(parsed.password) || 'guest',
    vhost: decodeURIComponent(parsed.pathname.slice(1)) || '/',
  }
}
