import { OncewardError } from '../../errors.ts'
import { assertKnownOptions } from '../../ports/known-options.ts'
import type { BrokerTls } from '../tls/broker-tls.ts'

/** A RabbitMQ queue as named by a contract: plain data, created by `queue(...)`. */
export interface QueueDeclaration {
  readonly kind: 'rabbitmq'
  readonly queue: string
  /**
   * `amqp://` or `amqps://`, with every node of a cluster: `amqp://user:password@a,b:5673,c/vhost`. By
   * default the process that runs the consumer provides it.
   */
  readonly url?: string
  /**
   * A name for the cluster, used instead of the announced one, together with the virtual host, to return
   * messages to it.
   */
  readonly cluster?: string
  /**
   * The authorities to trust and the client certificate, for `amqps://` and the https address of the
   * management plugin. Default: the authorities that Node trusts.
   */
  readonly tls?: BrokerTls
  /** Default `quorum`. A classic queue does not count deliveries. */
  readonly type?: 'quorum' | 'classic'
  /**
   * Default `declare`: create the queue, or fail when it exists with other arguments. `verify`: another team
   * declares it.
   */
  readonly declare?: 'declare' | 'verify'
  /** Only one consumer at a time receives deliveries, as `order: 'key'` requires. Default false. */
  readonly singleActiveConsumer?: boolean
  /**
   * Deliveries before the broker drops or dead-letters a message. Default `unlimited` on queues that Onceward
   * declares. A consumer that crashes in a loop ages every prefetched message, not only the one that causes
   * the crash. The engine counts the attempts of each message durably in any case.
   */
  readonly deliveryLimit?: number | 'unlimited'
  readonly deadLetterExchange?: string
  readonly deadLetterRoutingKey?: string
  /**
   * The queue that receives this queue's dead letters, which is then read as well. Only messages that this
   * queue's delivery limit moved there are taken, because their consumers crashed while holding them. For
   * queues of other teams that have a limit. It must have no limit itself and should hold nothing else;
   * publish the contract's own dead letters to another queue. Use a quorum queue, which counts deliveries: a
   * message that keeps crashing its consumer then stays there. Default: none is read.
   */
  readonly deadLetterIngest?: string
  /**
   * Further queue arguments, under the broker's names. They take precedence over those derived from this
   * declaration.
   */
  readonly arguments?: Readonly<Record<string, string | number | boolean>>
  readonly bind?: readonly { readonly exchange: string; readonly routingKey: string }[]
  /**
   * HTTP address of the management plugin; default `ONCEWARD_RABBITMQ_MANAGEMENT_URL`. Used for checks only.
   * It must be https, or http on this machine.
   */
  readonly managementUrl?: string
  readonly [option: string]: unknown
}

/** Options of `queue(...)`. */
export type QueueOptions = Partial<
  Pick<
    QueueDeclaration,
    | 'url'
    | 'cluster'
    | 'tls'
    | 'type'
    | 'declare'
    | 'singleActiveConsumer'
    | 'deliveryLimit'
    | 'deadLetterExchange'
    | 'deadLetterRoutingKey'
    | 'deadLetterIngest'
    | 'arguments'
    | 'bind'
    | 'managementUrl'
  >
>

const optionNames: readonly (keyof QueueOptions)[] = [
  'url',
  'cluster',
  'tls',
  'type',
  'declare',
  'singleActiveConsumer',
  'deliveryLimit',
  'deadLetterExchange',
  'deadLetterRoutingKey',
  'deadLetterIngest',
  'arguments',
  'bind',
  'managementUrl',
]

/** Names the queue a consumer reads. Opens nothing. */
export function queue(name: string, options: QueueOptions = {}): QueueDeclaration {
  assertKnownOptions(`RabbitMQ queue ${String(name)}`, options, optionNames)
  return { kind: 'rabbitmq', queue: name, ...options }
}

/** Rejects an unsafe declaration before any request to a broker. */
export function assertSafe(declaration: QueueDeclaration): void {
  const {
    queue: name,
    type = 'quorum',
    deliveryLimit,
    deadLetterExchange,
    deadLetterRoutingKey,
  } = declaration
  if (typeof name !== 'string' || name.length === 0) {
    throw new OncewardError('configuration', 'A RabbitMQ queue needs a name. Nothing was opened.')
  }
  if (typeof deliveryLimit === 'number' && type === 'classic') {
    throw new OncewardError(
      'configuration',
      `Queue ${name} is declared classic with deliveryLimit ${deliveryLimit}; classic queues do not count deliveries. Nothing was opened. Leave the limit out or declare a quorum queue.`,
    )
  }
  const limit = declaredLimit(declaration)
  const hasDeadLetters =
    deadLetterExchange !== undefined || declaration.arguments?.['x-dead-letter-exchange'] !== undefined
  if (limit !== null && !hasDeadLetters && declaration.declare !== 'verify')
    throw limitWithoutDeadLetters(name, limit)
  assertIngest(declaration)
  if (deadLetterExchange === '' && (deadLetterRoutingKey ?? name) === name) {
    throw new OncewardError(
      'topology_unsafe',
      `Queue ${name} would dead-letter to itself, and RabbitMQ drops messages in such a cycle. Nothing was opened. Set deadLetterRoutingKey to another queue.`,
    )
  }
}

function assertIngest({ queue: name, deadLetterIngest, singleActiveConsumer }: QueueDeclaration): void {
  if (deadLetterIngest === undefined) return
  const refuse = (why: string) => {
    throw new OncewardError('configuration', `deadLetterIngest of queue ${name} ${why} Nothing was opened.`)
  }
  if (typeof deadLetterIngest !== 'string' || deadLetterIngest === '') refuse('must name a queue.')
  if (deadLetterIngest === name) refuse('names the queue itself.')
  if (singleActiveConsumer)
    refuse(
      'cannot be combined with singleActiveConsumer: a message that returns this way is delivered after later messages of its key.',
    )
}

export function limitWithoutDeadLetters(name: string, limit: number): OncewardError {
  return new OncewardError(
    'topology_unsafe',
    `Queue ${name} has delivery limit ${limit} and no dead-letter exchange: after ${limit + 1} deliveries RabbitMQ silently drops a message, even one that was only prefetched when a process crashed. Nothing was consumed. Set the limit to unlimited (x-delivery-limit: -1), or give the queue a dead-letter exchange with a bound queue.`,
    { details: { queue: name, deliveryLimit: limit } },
  )
}

/** The finite limit of this declaration, null for none. */
export function declaredLimit({ deliveryLimit, arguments: extra }: QueueDeclaration): number | null {
  const limit = extra?.['x-delivery-limit'] ?? deliveryLimit
  return typeof limit === 'number' && limit >= 0 ? limit : null
}

/**
 * The queue arguments of this declaration. Dead-lettering of quorum queues is at-least-once with
 * `reject-publish`: the default strategy lost 50 of 50 messages whose target queue was missing. Brokers
 * before 4.0 refuse a limit of -1 and have none by default.
 */
export function queueArguments(
  declaration: QueueDeclaration,
  brokerVersion: string,
): Record<string, string | number | boolean> {
  const {
    type = 'quorum',
    deadLetterExchange,
    deadLetterRoutingKey,
    deliveryLimit = 'unlimited',
  } = declaration
  const asked: Record<string, string | number | boolean> = { 'x-queue-type': type }
  if (declaration.singleActiveConsumer) asked['x-single-active-consumer'] = true
  if (type === 'quorum') {
    if (typeof deliveryLimit === 'number') asked['x-delivery-limit'] = deliveryLimit
    else if (Number.parseInt(brokerVersion, 10) >= 4) asked['x-delivery-limit'] = -1
  }
  if (deadLetterExchange !== undefined) asked['x-dead-letter-exchange'] = deadLetterExchange
  if (deadLetterRoutingKey !== undefined) asked['x-dead-letter-routing-key'] = deadLetterRoutingKey
  if (deadLetterExchange !== undefined && type === 'quorum') {
    asked['x-dead-letter-strategy'] = 'at-least-once'
    asked['x-overflow'] = 'reject-publish'
  }
  return { ...asked, ...declaration.arguments }
}
