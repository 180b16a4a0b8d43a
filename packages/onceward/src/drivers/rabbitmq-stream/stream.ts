import { OncewardError } from '../../errors.ts'
import { readIsoTime } from '../../message/iso-time.ts'
import { assertKnownOptions } from '../../ports/known-options.ts'
import type { BrokerTls } from '../tls/broker-tls.ts'

/** A RabbitMQ stream, or a super stream, as a contract names it: plain data, made by `stream(...)`. */
export interface StreamDeclaration {
  readonly kind: 'rabbitmq-stream'
  readonly stream: string
  /**
   * `rabbitmq-stream://` or `rabbitmq-stream+tls://`, with every node of a cluster: `…@a,b:5553,c/vhost`.
   * Where absent the process that runs the consumer gives it.
   */
  readonly url?: string
  /** Whom to trust, and who we are, for `rabbitmq-stream+tls://`. Default: what Node trusts. */
  readonly tls?: BrokerTls
  /**
   * True when the name is that of a super stream: each of its partitions is read, shared among the processes
   * of the group.
   */
  readonly superStream?: boolean
  /**
   * Who reads, as the broker knows it. Default: the consumer's name, with its generation from the second on.
   */
  readonly group?: string
  /**
   * Where a consumer begins that never began here. No default: to begin at the wrong end loses records or
   * repeats them.
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
 * The first record that is still there, the newest chunk, only what comes from now on, an offset, or the
 * first chunk from a time on.
 */
export type StreamStart =
  | 'first'
  | 'last'
  | 'next'
  | number
  /** An ISO date, or milliseconds since 1970. */
  | { readonly timestamp: string | number }

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

/** Names the stream a consumer reads. Nothing is opened. */
export function stream(name: string, options: StreamOptions = {}): StreamDeclaration {
  assertKnownOptions(`RabbitMQ stream ${String(name)}`, options, optionNames)
  return { kind: 'rabbitmq-stream', stream: name, ...options }
}

const groupBytesMax = 240

/** What is wrong with a declaration as it stands, before any broker is asked. */
export function assertStream(declaration: StreamDeclaration, group: string): void {
  const { stream: name, start } = declaration
  const wrong = (text: string) => new OncewardError('configuration', `${text} Nothing was opened.`)
  if (typeof name !== 'string' || name.length === 0) throw wrong('A RabbitMQ stream needs a name.')
  if (start !== undefined && !isStart(start)) {
    throw wrong(
      `Stream ${name} has a start that cannot be read: ${JSON.stringify(start)}. Write 'first', 'last', 'next', an offset, or { timestamp: '2026-11-15T08:00:00Z' }.`,
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
