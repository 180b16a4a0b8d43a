import { OncewardError } from '../../errors.ts'
import { assertKnownOptions } from '../../ports/known-options.ts'
import type { KafkaSasl, KafkaTls } from './client/connection-options.ts'
import { defaultTimeoutsMs } from './client/default-timeouts.ts'

/** A Kafka topic as named by a contract: plain data, created by `topic(...)`. */
export interface TopicDeclaration {
  readonly kind: 'kafka'
  readonly topic: string
  /** `host:port`, several separated by commas; by default the process that runs the consumer provides it. */
  readonly bootstrap?: string
  /** A name for the cluster, used instead of its id to return messages to it. */
  readonly cluster?: string
  /**
   * Name of the consumer group on the broker. Default `<consumer name>.<generation>`, so a rebuild reads
   * independently.
   */
  readonly group?: string
  /**
   * Static membership: a stable name of this process, unique within its group. After a restart within the
   * session timeout, the process regains its partitions without a rebalance. No other member receives them
   * before the session ends.
   */
  readonly instance?: string
  /**
   * The group protocol. Default `classic` (cooperative-sticky); `consumer` is KIP-848, whose session timeout
   * the broker sets.
   */
  readonly protocol?: 'classic' | 'consumer'
  /**
   * Where a group without a position begins. It is used once and never again, so a lost position can never
   * skip records. There is no default. Partitions that are added later are always read from their first
   * record.
   */
  readonly start?: TopicStart
  /**
   * `committed` skips the records of open and aborted transactions; `uncommitted` delivers all records.
   * Default `committed`.
   */
  readonly isolation?: 'committed' | 'uncommitted'
  /**
   * Time without heartbeats after which the broker reassigns this member's partitions. Default 10 s, or 45 s
   * with `consumer`, as on brokers.
   */
  readonly sessionTimeoutMs?: number
  /** Longest time a member may take to finish its records of a revoked partition. Default 60 s. */
  readonly rebalanceTimeoutMs?: number
  /** Longest wait for a broker's answer, in addition to the wait requested from the broker. Default 10 s. */
  readonly requestTimeoutMs?: number
  /** Longest wait for a connection, including handshake and login. Default 5 s. */
  readonly connectTimeoutMs?: number
  /**
   * Time between heartbeats. Default a tenth of the session timeout, from 200 ms to 3 s; 1 s with `consumer`.
   */
  readonly heartbeatMs?: number
  /**
   * With order by key: longest time that added partitions wait until the earlier ones are drained. After it
   * they are read and a warning is reported. Default 10 min.
   */
  readonly addedPartitionsWaitMs?: number
  readonly tls?: boolean | KafkaTls
  readonly sasl?: KafkaSasl
  readonly [option: string]: unknown
}

/** Where a group without a position begins. */
export type TopicStart = 'earliest' | 'latest' | { readonly timestampMs: number }

/** Options of `topic(...)`. */
export type TopicOptions = Partial<
  Pick<
    TopicDeclaration,
    | 'bootstrap'
    | 'cluster'
    | 'group'
    | 'instance'
    | 'protocol'
    | 'start'
    | 'isolation'
    | 'sessionTimeoutMs'
    | 'rebalanceTimeoutMs'
    | 'requestTimeoutMs'
    | 'connectTimeoutMs'
    | 'heartbeatMs'
    | 'addedPartitionsWaitMs'
    | 'tls'
    | 'sasl'
  >
>

const optionNames: readonly (keyof TopicOptions)[] = [
  'bootstrap',
  'cluster',
  'group',
  'instance',
  'protocol',
  'start',
  'isolation',
  'sessionTimeoutMs',
  'rebalanceTimeoutMs',
  'requestTimeoutMs',
  'connectTimeoutMs',
  'heartbeatMs',
  'addedPartitionsWaitMs',
  'tls',
  'sasl',
]

/** Names the topic a consumer reads. Opens nothing. */
export function topic(name: string, options: TopicOptions = {}): TopicDeclaration {
  assertKnownOptions(`Kafka topic ${String(name)}`, options, optionNames)
  return { kind: 'kafka', topic: name, ...options }
}

const waitMaxMs = 2 ** 31 - 1

/** The declaration with its defaults, for one consumer. */
export interface TopicSettings {
  readonly topic: string
  readonly group: string
  readonly instance: string | null
  readonly protocol: 'classic' | 'consumer'
  readonly start: TopicStart | null
  readonly isolation: 'committed' | 'uncommitted'
  readonly sessionTimeoutMs: number
  readonly rebalanceTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly connectTimeoutMs: number
  readonly heartbeatMs: number
  readonly addedPartitionsWaitMs: number
}

/** Rejects invalid settings before any request to a broker. */
export function settingsOf(
  declaration: TopicDeclaration,
  consumer: { readonly name: string; readonly generation: number },
): TopicSettings {
  const { topic: name, protocol = 'classic', isolation = 'committed', start = null } = declaration
  const refuse = (problem: string): never => {
    throw new OncewardError('configuration', `Kafka topic ${String(name)}: ${problem}. Nothing was opened.`)
  }
  if (typeof name !== 'string' || !/^[\w.-]{1,249}$/.test(name) || name === '.' || name === '..') {
    refuse('a topic is named by 1 to 249 letters, digits, dots, underscores and hyphens')
  }
  if (!['classic', 'consumer'].includes(protocol)) refuse('protocol is "classic" or "consumer"')
  if (!['committed', 'uncommitted'].includes(isolation)) refuse('isolation is "committed" or "uncommitted"')
  if (!isStart(start)) refuse('start is "earliest", "latest" or { timestampMs }')
  const defaultSessionMs = protocol === 'consumer' ? 45_000 : 10_000
  const { sessionTimeoutMs = defaultSessionMs, rebalanceTimeoutMs = 60_000 } = declaration
  if (!isDuration(sessionTimeoutMs, 1_000)) refuse('sessionTimeoutMs is a whole number from 1000 to 3600000')
  if (!isDuration(rebalanceTimeoutMs, 1_000))
    refuse('rebalanceTimeoutMs is a whole number from 1000 to 3600000')
  const { requestTimeoutMs = defaultTimeoutsMs.request, connectTimeoutMs = defaultTimeoutsMs.connect } =
    declaration
  for (const [option, value] of Object.entries({ requestTimeoutMs, connectTimeoutMs }))
    if (!isDuration(value, 1_000)) refuse(`${option} is a whole number from 1000 to 3600000`)
  const { heartbeatMs = protocol === 'consumer' ? 1_000 : tenthOf(sessionTimeoutMs) } = declaration
  if (!isDuration(heartbeatMs, 100) || heartbeatMs > sessionTimeoutMs / 3)
    refuse('heartbeatMs is a whole number from 100 to a third of sessionTimeoutMs')
  const { group = `${consumer.name}.${consumer.generation}`, instance = null } = declaration
  if (!isName(group)) refuse('group is a text of 1 to 249 characters')
  if (instance !== null && !isName(instance)) refuse('instance is a text of 1 to 249 characters')
  const { addedPartitionsWaitMs = 600_000 } = declaration
  if (
    !Number.isSafeInteger(addedPartitionsWaitMs) ||
    addedPartitionsWaitMs < 0 ||
    addedPartitionsWaitMs > waitMaxMs
  )
    refuse(`addedPartitionsWaitMs is a whole number from 0 to ${waitMaxMs}`)
  const timeouts = { sessionTimeoutMs, rebalanceTimeoutMs, requestTimeoutMs, connectTimeoutMs, heartbeatMs }
  return { topic: name, group, instance, protocol, start, isolation, ...timeouts, addedPartitionsWaitMs }
}

/** Other members wait for about one heartbeat when the group changes. */
function tenthOf(sessionTimeoutMs: number): number {
  return Math.min(3_000, Math.max(200, Math.floor(sessionTimeoutMs / 10)))
}

function isStart(start: unknown): boolean {
  if (start === null || start === 'earliest' || start === 'latest') return true
  const { timestampMs } = Object(start) as { timestampMs?: unknown }
  return Number.isSafeInteger(timestampMs) && (timestampMs as number) >= 0
}

function isDuration(value: unknown, leastMs: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= leastMs && (value as number) <= 3_600_000
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value.length > 0 && value.length <= 249 && value.isWellFormed()
}
