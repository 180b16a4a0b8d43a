import { OncewardError } from '../../errors.ts'
import { editUrl, firstUrl } from '../../ports/broker-url.ts'
import type { BrokerTls } from './broker-tls.ts'

/** The parameter names of RabbitMQ's own clients. */
const parameters = {
  cacertfile: 'ca',
  certfile: 'cert',
  keyfile: 'key',
  password: 'passphrase',
  server_name_indication: 'servername',
} as const

export interface TlsUrl {
  /** The address without the TLS parameters. */
  readonly url: string
  readonly tls: BrokerTls
  /** The client authenticates with its certificate instead of user and password. */
  readonly external: boolean
}

/** Reads only the TLS parameters, for an address of any protocol. */
export function tlsOf(url: string): BrokerTls {
  const { searchParams: query } = firstUrl(url)!
  const said = Object.entries(parameters).flatMap(([parameter, name]) => {
    const value = query.get(parameter)
    return value === null ? [] : [[name, value]]
  })
  return Object.fromEntries(said)
}

/** Removes the TLS parameters from the address of one host. The address must be valid. */
export function splitTls(url: string, who: string): TlsUrl {
  const parsed = new URL(url)
  const { searchParams: query } = parsed
  const tls = tlsOf(url)
  for (const parameter of Object.keys(parameters)) query.delete(parameter)
  const verify = query.get('verify')
  if (verify !== null && verify !== 'verify_peer')
    throw refused(
      who,
      `verify=${verify === 'verify_none' ? verify : '…'} in its address is not supported: Onceward always verifies certificates. Set cacertfile to the server's authority`,
    )
  const mechanism = query.get('auth_mechanism')
  if (mechanism !== null && !['plain', 'external'].includes(mechanism))
    throw refused(who, 'auth_mechanism in its address must be plain or external')
  for (const name of ['verify', 'fail_if_no_peer_cert', 'depth', 'auth_mechanism']) query.delete(name)
  if (Object.keys(tls).length > 0 && !isTlsProtocol(parsed.protocol))
    throw refused(
      who,
      `TLS is configured, but its address begins with ${parsed.protocol}// and is therefore not encrypted. Begin it with amqps:// or rabbitmq-stream+tls://`,
    )
  return { url: parsed.href, tls, external: mechanism === 'external' }
}

/**
 * Writes the TLS settings into the address, so every reader of the address has them. `own` comes from the
 * contract and takes precedence. `otherwise` comes from the environment and applies to an encrypted address
 * without TLS parameters.
 */
export function withTls(url: string, own: BrokerTls | undefined, otherwise?: BrokerTls): string {
  const parsed = firstUrl(url)
  if (parsed === null) return url
  const isSaid = Object.keys(parameters).some(name => parsed.searchParams.has(name))
  const tls = own ?? (isSaid || !isTlsProtocol(parsed.protocol) ? {} : (otherwise ?? {}))
  if (Object.keys(tls).length === 0) return url
  return editUrl(url, ({ searchParams: query }) => {
    for (const [parameter, name] of Object.entries(parameters)) {
      const value = tls[name]
      if (value !== undefined) query.set(parameter, String(value))
    }
  })
}

function isTlsProtocol(protocol: string): boolean {
  return protocol === 'amqps:' || protocol === 'rabbitmq-stream+tls:' || protocol === 'https:'
}

function refused(who: string, why: string): OncewardError {
  return new OncewardError('configuration', `${who}: ${why}. Nothing was opened and nothing is lost.`)
}
