import { OncewardError } from '../../errors.ts'
import { assertKnownOptions } from '../../ports/known-options.ts'
import type { BrokerTls } from '../tls/broker-tls.ts'

/** A RabbitMQ queue as a contract names it: plain data, made by `queue(...)`. */
export interface QueueDeclaration {
  readonly kind: 'rabbitmq'
  readonly queue: string
  /**
   * `amqp://` or `amqps://`, with every node of a cluster: `amqp://user:password@a,b:5673,c/vhost`. Where
   * absent the process that runs the consumer gives it.
   */
  readonly url?: string
  /**
   * The cluster's name, instead of the one it announces: messages go back to where this name and the virtual
   * host say.
   */
  readonly cluster?: string
  /**
   * Whom to trust, and who we are, for `amqps://` and the https address of the management plugin. Default:
   * what Node trusts.
   */
  readonly tls?: BrokerTls
  /** Default `quorum`. A classic queue does not count deliveries. */
  readonly type?: 'quorum' | 'classic'
  /**
   * Default `declare`: make the queue, or fail when it exists with other arguments. `verify`: it belongs to
   * others.
   */
  readonly declare?: 'declare' | 'verify'
  /** One consumer at a time gets deliveries: what `order: 'key'` needs. Default false. */
  readonly singleActiveConsumer?: boolean
  /**
   * Hand-overs before the broker itself drops or dead-letters a message. Default `unlimited` on queues we
   * declare: a consumer that is killed in a loop ages every prefetched bystander, not only the message that
   * kills it, and the attempts of one message are counted durably by the engine anyway.
   */
  readonly deliveryLimit?: number | 'unlimited'
  readonly deadLetterExchange?: string
  readonly deadLetterRoutingKey?: string
  /**
   * The queue that this queue's dead letters arrive in, taken from as well: only messages that the delivery
   * limit of this queue moved there, because their consumers died around them. For queues of others that have
   * a limit. It must have no limit itself and best holds nothing else; copies of the contract's own dead
   * letters belong elsewhere. Quorum, so that hand-overs are counted: one that goes on killing its consumer
   * is then left there. Default: none is read.
   */
  readonly deadLetterIngest?: string
  /**
   * Further queue arguments, as the broker names them. They win over the ones derived from this declaration.
   */
  readonly arguments?: Readonly<Record<string, string | number | boolean>>
  readonly bind?: readonly { readonly exchange: string; readonly routingKey: string }[]
  /**
   * HTTP address of the management plugin; default `ONCEWARD_RABBITMQ_MANAGEMENT_URL`. Used for checks only;
   * https, or http on this machine.
   */
  readonly managementUrl?: string
  readonly [option: string]: unknown
}

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

/** Names the queue a consumer reads. Nothing is opened. */
export function queue(name: string, options: QueueOptions = {}): QueueDeclaration {
  assertKnownOptions(`RabbitMQ queue ${String(name)}`, options, optionNames)
  return { kind: 'rabbitmq', queue: name, ...options }
}

/** What is wrong with a declaration as it stands, before any broker is asked. */
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
      `Queue ${name} would dead-letter to itself, and RabbitMQ drops a message that goes round such a cycle. Nothing was opened. Set deadLetterRoutingKey to another queue.`,
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
      'cannot be combined with singleActiveConsumer: what comes back that way comes after later messages of its key.',
    )
}

export function limitWithoutDeadLetters(name: string, limit: number): OncewardError {
  return new OncewardError(
    'topology_unsafe',
    `Queue ${name} has delivery limit ${limit} and no dead-letter exchange: after ${limit + 1} hand-overs RabbitMQ drops a message without a trace, also one that was only prefetched when a process died. Nothing was consumed. Set the limit to unlimited (x-delivery-limit: -1), or give the queue a dead-letter exchange with a bound queue.`,
    { details: { queue: name, deliveryLimit: limit } },
  )
}

/** The finite limit this declaration asks for, null for none. */
export function declaredLimit({ deliveryLimit, arguments: extra }: QueueDeclaration): number | null {
  const limit = extra?.['x-delivery-limit'] ?? deliveryLimit
  return typeof limit === 'number' && limit >= 0 ? limit : null
}

/**
 * The arguments this declaration stands for. Dead-lettering of quorum queues is at-least-once with
 * `reject-publish`: the default strategy lost 50 of 50 messages whose target queue was missing.
 * Brokers before 4.0 refuse a limit of -1 and have none by default.
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
