import { OncewardError } from '../../../errors.ts'
import type { BrokerTls } from '../../tls/broker-tls.ts'

/** Address and credentials of a Kafka cluster. */
export interface KafkaConnectionOptions {
  /** One or more `host:port`, separated by commas. Any broker suffices; it names the others. */
  readonly bootstrap: string
  /** For the broker's logs and quotas. Default `onceward`. */
  readonly clientId?: string
  /** Enables TLS; `true` trusts the authorities that Node trusts. */
  readonly tls?: boolean | KafkaTls
  readonly sasl?: KafkaSasl
  /** Longest wait for an answer, in addition to the wait requested from the broker. Default 10 s. */
  readonly requestTimeoutMs?: number
  /** Longest wait for a connection, including handshake and login. Default 5 s. */
  readonly connectTimeoutMs?: number
}

/** Certificates for connections to Kafka. See `docs/security.md`. */
export type KafkaTls = BrokerTls

/** Functions are called at every connection and re-authentication, so their credentials may expire. */
export type KafkaSasl =
  | {
      readonly mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512'
      readonly username: string
      readonly password: string | (() => string | Promise<string>)
    }
  | {
      readonly mechanism: 'OAUTHBEARER'
      readonly token: () => string | Promise<string>
      readonly extensions?: Readonly<Record<string, string>>
    }

export interface BootstrapAddress {
  readonly host: string
  readonly port: number
}

/** Rejects entries that are not host:port. */
export function parseBootstrap(bootstrap: string | undefined): readonly BootstrapAddress[] {
  const entries = (bootstrap ?? '').split(',').map(entry => entry.trim())
  return entries.map(entry => {
    const [, host, port] = /^(\[[0-9a-f:.]+\]|[^\s:/@[\]]+):(\d{1,5})$/i.exec(entry) ?? []
    if (host === undefined || Number(port) < 1 || Number(port) > 65_535) return badBootstrap(entry)
    return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) }
  })
}

function badBootstrap(entry: string): never {
  const shown = entry.includes('@') ? 'one' : JSON.stringify(entry.slice(0, 100))
  const problem = entry === '' ? 'an entry is empty' : `${shown} is not host:port`
  const advice = 'Put user names and passwords into `sasl`.'
  throw new OncewardError(
    'configuration',
    `Kafka needs a bootstrap list like kafka-1:9092,kafka-2:9092; ${problem}. Nothing was opened. ${advice}`,
  )
}
