import { readFile } from 'node:fs/promises'
import { OncewardError } from '../errors.ts'
import type { KafkaSasl } from './kafka/client/connection-options.ts'
import type { BrokerTls } from './tls/broker-tls.ts'

/** Broker security used when neither the contract nor the address configures it. */
export interface BrokerSecurity {
  /** Applies to encrypted addresses of queues, streams and the management plugin. */
  readonly rabbitmqTls?: BrokerTls | undefined
  readonly kafkaTls?: boolean | BrokerTls | undefined
  readonly kafkaSasl?: KafkaSasl | undefined
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Reads the environment: `ONCEWARD_RABBITMQ_CA_FILE`, `ONCEWARD_KAFKA_SASL_PASSWORD` and so on. Files are
 * read when a connection uses them.
 */
export function brokerSecurity(env: Environment): BrokerSecurity {
  const rabbitmqTls = tlsFrom(env, 'ONCEWARD_RABBITMQ')
  const kafkaTls = tlsFrom(env, 'ONCEWARD_KAFKA') ?? switchFrom(env, 'ONCEWARD_KAFKA_TLS')
  const kafkaSasl = saslFrom(env)
  return {
    ...(rabbitmqTls && { rabbitmqTls }),
    ...(kafkaTls && { kafkaTls }),
    ...(kafkaSasl && { kafkaSasl }),
  }
}

const tlsVariables = {
  ca: 'CA_FILE',
  cert: 'CERT_FILE',
  key: 'KEY_FILE',
  passphrase: 'KEY_PASSPHRASE',
  servername: 'TLS_SERVERNAME',
} as const

function tlsFrom(env: Environment, prefix: string): BrokerTls | undefined {
  const given = Object.entries(tlsVariables).flatMap(([name, suffix]) => {
    const value = env[`${prefix}_${suffix}`]
    return value === undefined || value === '' ? [] : [[name, value]]
  })
  return given.length === 0 ? undefined : Object.fromEntries(given)
}

function switchFrom(env: Environment, name: string): boolean | undefined {
  const value = env[name]
  if (value === undefined || value === '') return undefined
  if (value === 'true' || value === 'false') return value === 'true'
  throw refused(`${name} must be true or false`)
}

const saslPrefix = 'ONCEWARD_KAFKA_SASL'

function saslFrom(env: Environment): KafkaSasl | undefined {
  const read = (name: string) => env[`${saslPrefix}_${name}`] || undefined
  const [mechanism, username, password] = [read('MECHANISM'), read('USERNAME'), read('PASSWORD')]
  const [passwordFile, tokenFile] = [read('PASSWORD_FILE'), read('TOKEN_FILE')]
  if ([mechanism, username, password, passwordFile, tokenFile].every(value => value === undefined))
    return undefined
  if (mechanism === undefined) throw refused(`${saslPrefix}_MECHANISM is missing`)
  if (mechanism === 'OAUTHBEARER') {
    if (tokenFile === undefined) throw refused(`${saslPrefix}_TOKEN_FILE is missing`)
    return { mechanism, token: () => contentOf(tokenFile) }
  }
  if (mechanism !== 'PLAIN' && mechanism !== 'SCRAM-SHA-256' && mechanism !== 'SCRAM-SHA-512')
    throw refused(`${saslPrefix}_MECHANISM must be PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER`)
  if (username === undefined) throw refused(`${saslPrefix}_USERNAME is missing`)
  if (passwordFile !== undefined) return { mechanism, username, password: () => contentOf(passwordFile) }
  if (password === undefined)
    throw refused(`${saslPrefix}_PASSWORD or ${saslPrefix}_PASSWORD_FILE is missing`)
  return { mechanism, username, password }
}

async function contentOf(file: string): Promise<string> {
  return (await readFile(file, 'utf8')).trim()
}

function refused(why: string): OncewardError {
  return new OncewardError('configuration', `${why}. Nothing was started.`)
}
