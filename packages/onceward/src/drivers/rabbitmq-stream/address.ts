import { OncewardError } from '../../errors.ts'
import { everyUrl, firstUrl, hostsOf } from '../../ports/broker-url.ts'
import { type ConnectionTiming, timingOf } from '../../ports/connection-timing.ts'
import type { BrokerTls } from '../tls/broker-tls.ts'
import { splitTls } from '../tls/tls-url.ts'

/** The address of a broker's stream listener, with the credentials. */
export interface StreamAddress {
  readonly host: string
  readonly port: number
  /** All hosts of the address, including the one above. */
  readonly hosts: readonly { readonly host: string; readonly port: number }[]
  /** Null without TLS. */
  readonly tls: BrokerTls | null
  /** The client authenticates with its certificate instead of user and password. */
  readonly external: boolean
  readonly user: string
  readonly password: string
  readonly vhost: string
  readonly timing: ConnectionTiming
}

/**
 * Reads `rabbitmq-stream://user:password@a,b:5552/vhost`, with `+tls` for TLS. Never repeats the password.
 */
export function readAddress(url: string | undefined, purpose: string): StreamAddress {
  const parsed = url === undefined ? null : firstUrl(url)
  const decoded = parsed === null ? null : decodedParts(parsed)
  if (parsed === null || decoded === null || !/^rabbitmq-stream(\+tls)?:$/.test(parsed.protocol)) {
    throw new OncewardError(
      'configuration',
      `${purpose} needs a URL like rabbitmq-stream://user:password@host:5552/vhost (or rabbitmq-stream+tls://, or host-a,host-b:5553 for the nodes of a cluster); ${url === undefined ? 'none was given' : 'the given one is not valid'}. Nothing was opened.`,
    )
  }
  const who = `RabbitMQ streams at ${everyUrl(url!)
    .map(one => new URL(one).host)
    .join(',')}`
  const { tls, external } = splitTls(parsed.href, who)
  const encrypted = parsed.protocol === 'rabbitmq-stream+tls:'
  const hosts = hostsOf(url!, encrypted ? 5551 : 5552)
  return {
    ...hosts[0]!,
    hosts,
    tls: encrypted ? tls : null,
    external,
    ...decoded,
    timing: timingOf(parsed.href, who),
  }
}

/** Null if a percent sign is not followed by two digits of UTF-8. */
function decodedParts({ username, password, pathname }: URL): Decoded | null {
  try {
    return {
      user: decodeURIComponent(username) || 'guest',
      password: decodeURIComponent(password) || 'guest',
      vhost: decodeURIComponent(pathname.slice(1)) || '/',
    }
  } catch {
    return null
  }
}

type Decoded = Pick<StreamAddress, 'user' | 'password' | 'vhost'>
