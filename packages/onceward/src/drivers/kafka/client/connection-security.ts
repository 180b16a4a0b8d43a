import { OncewardError } from '../../../errors.ts'
import { readTls } from '../../tls/broker-tls.ts'
import type { KafkaConnectionOptions } from './connection-options.ts'
import type { ConnectionOptions } from './wire.ts'

const mechanisms = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER']

/** Converts credentials to the client library's form. */
export function securityOf({ bootstrap, tls, sasl }: KafkaConnectionOptions): ConnectionOptions {
  const options: ConnectionOptions = {}
  if (tls !== undefined && tls !== false) {
    const { servername, ...material } = readTls(tls === true ? {} : tls, `Kafka at ${bootstrap}`)
    options.tls = material
    if (servername !== undefined) options.tlsServerName = servername
  }
  if (sasl === undefined) return options
  if (!mechanisms.includes(sasl.mechanism)) {
    throw new OncewardError(
      'configuration',
      `Kafka's SASL mechanism must be one of ${mechanisms.join(', ')}, not ${JSON.stringify(sasl.mechanism)}. Nothing was opened.`,
    )
  }
  if (sasl.mechanism === 'OAUTHBEARER') {
    const { token, extensions = {} } = sasl
    options.sasl = {
      mechanism: sasl.mechanism,
      token,
      oauthBearerExtensions: { ...extensions },
      authBytesValidator: refuseBearerError,
    }
  } else options.sasl = { ...sasl }
  return options
}

/**
 * The broker answers a refused token with error code 0 and the reason as JSON. The client library treats that
 * as success, and the next request fails without a reason. (The library has a validator for it, which calls
 * back twice.)
 */
function refuseBearerError(bytes: Buffer, callback: (error: Error | null, bytes?: Buffer) => void): void {
  if (bytes.length === 0) callback(null, bytes)
  else callback(new Error(`the token was refused: ${bytes.toString('utf8').slice(0, 300)}`))
}
