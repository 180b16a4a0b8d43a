import { OncewardError } from '../../errors.ts'
import { readIsoTime } from '../../message/iso-time.ts'
import { assertKnownOptions } from '../../ports/known-options.ts'
import type { BrokerTls } from '../tls/broker-tls.ts'

/** A RabbitMQ stream or super stream as named by a contract: plain data, created by `stream(...)`. */
export interface StreamDeclaration {
  readonly kind: 'rabbitmq-stream'
  readonly stream: string
  /**
   * `rabbitmq-stream://` or `rabbitmq-stream+tls://`, with every node of a cluster: `…@a,b:5553,c/vhost`. By
   * default the process that runs the consumer provides it.
   */
  readonly url?: string
  /**
   * The authorities to trust and the client certificate, for `rabbitmq-stream+tls://`. Default: the
   * authorities that Node trusts.
   */
  readonly tls?: BrokerTls
  /** True for a super stream: the processes of the group share its partitions. */
  readonly superStream?: boolean
  /** The group's name on the broker. Default: the consumer's name, with its generation from the second on. */
  readonly group?: string
  /**
   * Where a consumer without a position begins. No default: the wrong end would skip records or repeat them.
   */
  readonly start?: StreamStart
  /**
   * Default true: one process of the group reads a partition at a time, the others stand by. False: each
   * process reads everything.
   */
  readonly singleActive?: boolean
  readonly [option: string]: unknown
}

/**
 * The first available record, the newest chunk, only new records, an offset, or the first chunk at or after a
 * time.
 */
export type StreamStart =
  | 'first'
  | 'last'
  | 'next'
  | number
  /** An ISO date, or milliseconds since 1970. */
  | { readonly timestamp: string | number }

/** Options of `stream(...)`. */
export type StreamOptions = Partial<
  Pick<StreamDeclaration, 'url' | 'tls' | 'superStream' | 'group' | 'start' | 'singleActive'>
>

const optionNames: readonly (keyof StreamOptions)[] = [
  'url',
  'tls',
  'superStream',
  'group',
  'start',
  'singleActive',
]

/** Names the stream a consumer reads. Opens nothing. */
export function stream(name: string, options: StreamOptions = {}): StreamDeclaration {
  assertKnownOptions(`RabbitMQ stream ${String(name)}`, options, optionNames)
  return { kind: 'rabbitmq-stream', stream: name, ...options }
}

const groupBytesMax = 240

/** Rejects an invalid declaration before any request to a broker. */
export function assertStream(declaration: StreamDeclaration, group: string): void {
  const { stream: name, start } = declaration
  const wrong = (text: string) => new OncewardError('configuration', `${text} Nothing was opened.`)
  if (typeof name !== 'string' || name.length === 0) throw wrong('A RabbitMQ stream needs a name.')
  if (start !== undefined && !isStart(start)) {
    throw wrong(
      `Stream ${name} has an invalid start: ${JSON.stringify(start)}. Write 'first', 'last', 'next', an offset, or { timestamp: '2026-11-15T08:00:00Z' }.`,
    )
  }
  if (group.length === 0 || Buffer.byteLength(group) > groupBytesMax)
    throw wrong(`The group of stream ${name} must have 1 to ${groupBytesMax} bytes.`)
}

function isStart(start: unknown): boolean {
  if (typeof start === 'string') return ['first', 'last', 'next'].includes(start)
  if (typeof start === 'number') return Number.isSafeInteger(start) && start >= 0
  return start !== null && typeof start === 'object' && Number.isFinite(startTimeMs(start as never))
}

export function startTimeMs({ timestamp }: { readonly timestamp: string | number }): number {
  if (typeof timestamp === 'number') return timestamp
  const time = readIsoTime(timestamp)
  return typeof time === 'string' ? Number.NaN : time.ms
}
