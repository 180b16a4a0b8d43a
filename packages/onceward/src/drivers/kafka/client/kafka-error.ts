import { errorText, OncewardError } from '../../../errors.ts'
import { tlsRefusal } from '../../tls/tls-refusal.ts'
import { protocolErrors, protocolErrorsCodesById } from './wire.ts'

/**
 * The category of an error, which decides the remedy:
 *
 * - `network`: reconnect
 * - `leader`: read fresh metadata
 * - `coordinator`: find it again
 * - `member`: rejoin the group
 * - `fenced`: stop, another process took over
 * - `busy`: retry
 * - `credentials`, `topic`, `version`: an operator has to act
 * - `transaction`: abort it
 * - `record`: the broker refuses the record itself
 */
export type KafkaErrorKind =
  | 'network'
  | 'leader'
  | 'coordinator'
  | 'member'
  | 'fenced'
  | 'busy'
  | 'credentials'
  | 'topic'
  | 'version'
  | 'transaction'
  | 'record'
  | 'other'

export interface KafkaTrouble {
  /**
   * Kafka's name, as `NOT_LEADER_OR_FOLLOWER`; `NETWORK`, `TLS`, `AUTHENTICATION`, `CREDENTIAL_SOURCE` or
   * `UNKNOWN` when it has none.
   */
  readonly name: string
  readonly kind: KafkaErrorKind
  /** The same request may succeed later, perhaps at another broker. */
  readonly retriable: boolean
  /** The error text. */
  readonly text: string
}

const kinds: readonly (readonly [RegExp, KafkaErrorKind])[] = [
  [/COORDINATOR_(LOAD|NOT)|^NOT_COORDINATOR/, 'coordinator'],
  [/AUTHORIZATION_FAILED|SASL|SECURITY_DISABLED|DELEGATION_TOKEN/, 'credentials'],
  [/^(UNSUPPORTED_VERSION|UNSUPPORTED_FOR_MESSAGE_FORMAT)$/, 'version'],
  [/^(INVALID_PRODUCER_EPOCH|PRODUCER_FENCED|FENCED_INSTANCE_ID|TRANSACTION_COORDINATOR_FENCED)$/, 'fenced'],
  [
    /^(UNKNOWN_MEMBER_ID|ILLEGAL_GENERATION|REBALANCE_IN_PROGRESS|MEMBER_ID_REQUIRED|FENCED_MEMBER_EPOCH|STALE_MEMBER_EPOCH|UNRELEASED_INSTANCE_ID)$/,
    'member',
  ],
  [/^(UNKNOWN_TOPIC_OR_PARTITION|UNKNOWN_TOPIC_ID|INCONSISTENT_TOPIC_ID|INVALID_TOPIC_EXCEPTION)$/, 'topic'],
  [
    /^(LEADER_NOT_AVAILABLE|NOT_LEADER_OR_FOLLOWER|FENCED_LEADER_EPOCH|UNKNOWN_LEADER_EPOCH|REPLICA_NOT_AVAILABLE|BROKER_NOT_AVAILABLE|KAFKA_STORAGE_ERROR|LISTENER_NOT_FOUND|OFFSET_NOT_AVAILABLE)$/,
    'leader',
  ],
  [
    /^(CONCURRENT_TRANSACTIONS|REQUEST_TIMED_OUT|NOT_ENOUGH_REPLICAS|NOT_ENOUGH_REPLICAS_AFTER_APPEND|THROTTLING_QUOTA_EXCEEDED|UNSTABLE_OFFSET_COMMIT|NETWORK_EXCEPTION)$/,
    'busy',
  ],
  [
    /^(INVALID_TXN_STATE|INVALID_PRODUCER_ID_MAPPING|TRANSACTION_ABORTABLE|OUT_OF_ORDER_SEQUENCE_NUMBER|UNKNOWN_PRODUCER_ID|INVALID_TRANSACTION_TIMEOUT)$/,
    'transaction',
  ],
  [
    /^(MESSAGE_TOO_LARGE|RECORD_LIST_TOO_LARGE|INVALID_RECORD|CORRUPT_MESSAGE|INVALID_TIMESTAMP|UNSUPPORTED_COMPRESSION_TYPE|POLICY_VIOLATION)$/,
    'record',
  ],
]

/** Classifies an error code of a response. */
export function troubleOfCode(code: number, said: string | null = null): KafkaTrouble {
  const name = protocolErrorsCodesById[code] ?? `ERROR_${code}`
  const kind = kinds.find(([pattern]) => pattern.test(name))?.[1] ?? 'other'
  const known = protocolErrors[name]
  const retriable = known?.canRetry === true || kind === 'busy' || kind === 'leader' || kind === 'coordinator'
  return { name, kind, retriable, text: `${name} (${said ?? known?.message ?? 'no text'})` }
}

/** Classifies anything thrown: the client library nests the broker's error below its own. */
export function troubleOf(error: unknown): KafkaTrouble {
  if (error instanceof KafkaError) return error.trouble
  const chain = [...causes(error)]
  const text = chain.map(one => one.message).join(' ← ')
  const spoken = chain.find(one => typeof one.apiCode === 'number')
  const refused = chain.find(one => one.code === 'PLT_KFK_AUTHENTICATION')
  // Checked before the login, because a TLS listener never reads a login sent without TLS.
  const tls = chain.map(tlsTrouble).find(words => words !== null)
  if (tls != null) return { name: 'TLS', kind: 'credentials', retriable: false, text: `${tls} ← ${text}` }
  if (refused !== undefined && /provider threw/.test(refused.message))
    return { name: 'CREDENTIAL_SOURCE', kind: 'network', retriable: true, text }
  const broke = chain.some(one => one.code === 'PLT_KFK_NETWORK' && one.message === 'Connection closed')
  if (refused !== undefined && broke && spoken === undefined)
    return { name: 'NETWORK', kind: 'network', retriable: true, text }
  if (refused !== undefined) return { name: 'AUTHENTICATION', kind: 'credentials', retriable: false, text }
  if (spoken !== undefined) return troubleOfCode(spoken.apiCode!, spoken.serverErrorMessage ?? null)
  if (chain.some(one => one.code === 'PLT_KFK_NETWORK'))
    return { name: 'NETWORK', kind: 'network', retriable: true, text }
  return { name: 'UNKNOWN', kind: 'other', retriable: false, text: errorText(error, 500) }
}

/** A broker's error about one part of a request that had several. */
export class KafkaError extends Error {
  override readonly name = 'KafkaError'
  readonly trouble: KafkaTrouble

  constructor(trouble: KafkaTrouble, about: string) {
    super(`${about}: ${trouble.text}`)
    this.trouble = trouble
  }
}

/**
 * The response inside an error: one refused partition makes the client library discard the answers about all
 * others.
 */
export async function answerOf<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked
  } catch (error) {
    const { code, response } = error as { code?: string; response?: T }
    if (code === 'PLT_KFK_RESPONSE' && response !== undefined) return response
    throw error
  }
}

/**
 * Converts to an error for people. `doing` names the failed action; `state` describes the outcome, as
 * "Nothing was committed.". Errors that a retry cannot fix become `configuration`, all others
 * `broker_unreachable`.
 */
export function toOncewardError(error: unknown, doing: string, state: string): OncewardError {
  if (error instanceof OncewardError) return error
  const trouble = troubleOf(error)
  const details = { kafka: trouble.name, kind: trouble.kind }
  const what = `${doing}: ${explain(trouble)} Kafka said: ${trouble.text.slice(0, 500)}`
  return trouble.kind === 'credentials' || trouble.kind === 'topic' || trouble.kind === 'version'
    ? new OncewardError('configuration', `${what}. ${state}`, { cause: error, details })
    : new OncewardError('broker_unreachable', `${what}. ${state}`, { cause: error, details })
}

function explain({ kind, name }: KafkaTrouble): string {
  if (name === 'TLS')
    return 'the TLS handshake failed. Check `tls`: the authority (`ca`), the name in the certificate (`servername`), the client certificate, and whether this listener uses TLS.'
  if (name === 'AUTHENTICATION' || /SASL/.test(name))
    return 'the credentials or the SASL mechanism were refused. Check `sasl` against the users of this listener.'
  if (kind === 'credentials') return 'this user lacks a permission. Grant the ACL that Kafka names.'
  if (kind === 'topic') return 'the topic or partition does not exist. Create it, or correct the name.'
  if (kind === 'version')
    return 'the broker does not support a required protocol version. Kafka 4.0 or newer is required.'
  if (name === 'CREDENTIAL_SOURCE') return 'the function that supplies the password or token failed.'
  if (kind === 'network')
    return 'no broker was reachable, or the connection broke. Check that the addresses are right, that brokers advertise addresses this machine can reach, and that this listener needs no TLS or SASL.'
  return 'the broker could not process the request now. Try again.'
}

interface Spoken extends Error {
  readonly code?: unknown
  readonly apiCode?: number
  readonly serverErrorMessage?: string | null
}

/** The error, its causes, and the errors it collects, outermost first. */
function* causes(error: unknown, depth = 0): Generator<Spoken> {
  if (!(error instanceof Error) || depth > 8) return
  yield error as Spoken
  const { cause, errors } = error as { cause?: unknown; errors?: readonly unknown[] }
  for (const inner of errors ?? []) yield* causes(inner, depth + 1)
  yield* causes(cause, depth + 1)
}

function tlsTrouble(error: Spoken): string | null {
  return error.message === 'Broker requires TLS.'
    ? 'this listener requires TLS, but this client does not use it'
    : tlsRefusal(error)
}
