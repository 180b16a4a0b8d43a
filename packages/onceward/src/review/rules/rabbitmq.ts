import type { Consumer } from '../../contract/define-consumer.ts'
import { durationText } from '../../contract/duration.ts'
import { type QueueDeclaration, queueArguments } from '../../drivers/rabbitmq/declaration.ts'
import type { BrokerState, QueueState, Topology } from '../../drivers/rabbitmq/describe-broker.ts'
import { byBroker } from '../../ports/retry-levels.ts'
import { type DeadLetterRoute, deadLetterRoute } from '../dead-letter-route.ts'
import { deliveryLimitSetting, limitSetting, setting } from '../queue-setting.ts'
import type { Rule, RuleResult } from '../rule.ts'
import { ackTimeoutDefaultMs, longestHoldMs } from './timing.ts'

/** A queue as a contract names it, and its actual state. */
export interface RabbitSubject {
  readonly consumer: Consumer
  readonly declaration: QueueDeclaration
  readonly broker: BrokerState
  /** Null if it does not exist yet. */
  readonly queue: QueueState | null
}

type Judged = (queue: QueueState, subject: RabbitSubject) => RuleResult

/** Queues with known arguments: existing ones, or as the consumer will create them. */
const ofQueue =
  (judge: Judged) =>
  (subject: RabbitSubject): RuleResult => {
    const queue = subject.queue ?? asDeclared(subject)
    return queue === null || subject.broker.topology === null ? null : judge(queue, subject)
  }

function asDeclared({ declaration, broker: { version } }: RabbitSubject): QueueState | null {
  if (declaration.declare === 'verify') return null
  const { queue: name, type = 'quorum' } = declaration
  const settings = queueArguments(declaration, version)
  return { name, type, durable: true, transient: false, arguments: settings, policy: {} }
}

/** With the bindings that the consumer adds. */
function topologyOf({ declaration, broker }: RabbitSubject): Topology {
  const { declare, bind = [], queue: destination } = declaration
  const added = bind.map(({ exchange: source, routingKey }) => ({
    source,
    destination,
    toExchange: false,
    routingKey,
  }))
  const { exchanges, bindings } = broker.topology!
  return { exchanges, bindings: declare === 'verify' ? bindings : [...bindings, ...added] }
}

type JudgedRoute = (route: DeadLetterRoute, queue: QueueState, subject: RabbitSubject) => RuleResult

/** Only those with a dead-letter exchange. */
const ofRoute = (judge: JudgedRoute) =>
  ofQueue((queue, subject) => {
    const names = new Set([queue.name, ...subject.broker.queues.keys()])
    const comesBack = byBroker(subject.consumer.failure.mode)
    const route = deadLetterRoute(queue, topologyOf(subject), names, comesBack)
    return route === null ? null : judge(route, queue, subject)
  })

/** The finite delivery limit in force, null for none. Brokers from 4.0 on have one by default. */
function deliveryLimit(queue: QueueState, { version }: BrokerState): number | null {
  if (queue.type !== 'quorum') return null
  const limit = deliveryLimitSetting(queue)
  if (typeof limit === 'number') return limit < 0 ? null : limit
  return Number.parseInt(version, 10) >= 4 ? 20 : null
}

/**
 * From 4.3 on, a negative acknowledgement does not count toward the limit; a rejection and a connection that
 * ended do, also when it was closed in order.
 */
function countedBy({ version }: BrokerState): string {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > 4 || (major === 4 && minor >= 3)
    ? 'rejections and ended connections count'
    : 'every returned delivery counts'
}

/** How a quorum queue delays what ended connections return, as RabbitMQ 4.3 can; null if it does not. */
function delayedRetry(queue: QueueState): string | null {
  const type = setting(queue, 'delayed-retry-type')
  return queue.type === 'quorum' && (type === 'all' || type === 'failed') ? type : null
}

const hasDeadLetters = (queue: QueueState) => setting(queue, 'dead-letter-exchange') !== undefined

/** Why a queue, and the messages in it, do not survive. */
function endOf(queue: QueueState): string | null {
  const expires = limitSetting(queue, 'expires')
  if (!queue.durable || queue.transient)
    return `queue ${queue.name} is ${queue.durable ? 'exclusive or auto-delete' : 'not durable'}`
  return typeof expires === 'number'
    ? `queue ${queue.name} is removed after ${durationText(expires)} without a consumer`
    : null
}

/** How a queue loses unread messages. */
function dropsOf(queue: QueueState): string[] {
  if (hasDeadLetters(queue)) return []
  const found: string[] = []
  const full = ['max-length', 'max-length-bytes'].find(name => typeof limitSetting(queue, name) === 'number')
  const overflow = setting(queue, 'overflow') ?? 'drop-head'
  if (full !== undefined && overflow === 'drop-head')
    found.push(`queue ${queue.name} has ${full} ${limitSetting(queue, full)} and drops from its head`)
  const ttl = limitSetting(queue, 'message-ttl')
  if (typeof ttl === 'number')
    found.push(`messages of queue ${queue.name} expire after ${durationText(ttl)} and are dropped`)
  return found
}

export const rabbitRules: readonly Rule<RabbitSubject>[] = [
  {
    id: 'OW201',
    severity: 'error',
    title: 'A queue that is declared elsewhere exists',
    reason: "With declare: 'verify' the consumer does not create the queue, and does not start without it.",
    fix: "Create it, correct the name, or omit declare: 'verify'.",
    judge: ({ declaration, queue }) =>
      declaration.declare === 'verify' && queue === null ? `queue ${declaration.queue} does not exist` : null,
  },
  {
    id: 'OW202',
    severity: 'error',
    title: 'The queue matches the contract',
    reason: 'RabbitMQ rejects a declaration with other arguments, so the consumer does not start.',
    fix: "Change the declaration to match, move the messages to a new queue, or use declare: 'verify' if another team owns it.",
    judge: ofQueue((queue, { declaration, broker }) => {
      if (declaration.declare === 'verify')
        return declaration.singleActiveConsumer === true &&
          queue.arguments['x-single-active-consumer'] !== true
          ? `queue ${queue.name} has no x-single-active-consumer`
          : null
      const asked: Record<string, unknown> = queueArguments(declaration, broker.version)
      return Object.keys({ ...asked, ...queue.arguments })
        .filter(name => String(asked[name]) !== String(queue.arguments[name]))
        .map(
          name =>
            `queue ${queue.name}, ${name}: the contract asks for ${asked[name] ?? 'none'}, the queue has ${queue.arguments[name] ?? 'none'}`,
        )
    }),
  },
  {
    id: 'OW203',
    severity: 'error',
    title: 'The queue survives a restart',
    reason: 'A queue that is not durable, exclusive or deleted with its last consumer loses its messages.',
    fix: 'Recreate it durable, without exclusive and auto-delete.',
    judge: ofQueue(endOf),
  },
  {
    id: 'OW204',
    severity: 'warning',
    title: 'The queue is replicated',
    reason: 'A classic queue is on one node, counts no deliveries, and dead-letters at most once.',
    fix: 'Use a quorum queue (the default of a declaration).',
    judge: ofQueue(queue => (queue.type === 'classic' ? `queue ${queue.name} is a classic queue` : null)),
  },
  {
    id: 'OW205',
    severity: 'error',
    title: 'A delivery limit has a dead-letter exchange',
    reason:
      'Above the limit RabbitMQ drops a message without a trace, even one that was only prefetched when a process died.',
    fix: 'Set the limit to unlimited (x-delivery-limit: -1), or give the queue a dead-letter exchange with a bound queue.',
    judge: ofQueue((queue, { broker }) => {
      const limit = deliveryLimit(queue, broker)
      return limit !== null && !hasDeadLetters(queue)
        ? `queue ${queue.name} has delivery limit ${limit} and no dead-letter exchange`
        : null
    }),
  },
  {
    id: 'OW206',
    severity: 'warning',
    title: 'The broker’s delivery limit is above the contract’s attempts',
    reason:
      'RabbitMQ counts a delivery for every message that a dying process had prefetched. A limit at or below the attempts removes messages whose handler had attempts left.',
    fix: 'Set x-delivery-limit to -1 or well above failure.attemptsMax, or name the dead-letter queue as deadLetterIngest.',
    judge: ofQueue((queue, { broker, consumer, declaration }) => {
      const limit = deliveryLimit(queue, broker)
      const attempts = consumer.failure.attemptsMax
      return limit !== null && limit <= attempts && declaration.deadLetterIngest === undefined
        ? `queue ${queue.name} has delivery limit ${limit} (${countedBy(broker)}), failure.attemptsMax is ${attempts}`
        : null
    }),
  },
  {
    id: 'OW207',
    severity: 'error',
    title: 'Dead letters of the broker reach a queue',
    reason:
      'RabbitMQ drops a dead letter that reaches no queue, or keeps it in the source queue, which fills up.',
    fix: 'Declare the exchange and bind a queue for every key that dead letters have.',
    judge: ofRoute((route, queue) => {
      if (!route.exchangeExists)
        return `queue ${queue.name} dead-letters to exchange ${route.exchange}, which does not exist`
      return route.lostWith === null
        ? null
        : `queue ${queue.name} dead-letters to exchange "${route.exchange}", where no queue takes key "${route.lostWith}"`
    }),
  },
  {
    id: 'OW208',
    severity: 'warning',
    title: 'Dead letters are transferred at least once',
    reason: 'The default strategy does not wait for a confirm: an unavailable target loses them.',
    fix: 'Set dead-letter-strategy to at-least-once and overflow to reject-publish, by policy or by declaration.',
    judge: ofRoute((_route, queue) => {
      if (queue.type !== 'quorum') return null
      const [strategy, overflow] = [setting(queue, 'dead-letter-strategy'), setting(queue, 'overflow')]
      if (strategy === 'at-least-once' && overflow === 'reject-publish') return null
      return strategy === 'at-least-once'
        ? `queue ${queue.name} has overflow ${overflow ?? 'drop-head'}, so at-least-once is not in force`
        : `queue ${queue.name} dead-letters at most once`
    }),
  },
  {
    id: 'OW209',
    severity: 'error',
    title: 'Dead letters do not go in a cycle',
    reason:
      'RabbitMQ drops a message that returns to a queue where it was dead-lettered before, unless a consumer rejected it.',
    fix: 'Dead-letter to another queue.',
    judge: ofRoute((route, queue) =>
      route.queues.includes(queue.name) ? `queue ${queue.name} dead-letters to itself` : null,
    ),
  },
  {
    id: 'OW210',
    severity: 'error',
    title: 'The acknowledgement time-out is longer than work can take',
    reason:
      'After it RabbitMQ closes the channel, or from 4.3 on cancels the consumer of a quorum queue, and redelivers every message; handlers start again.',
    fix: "Raise consumer-timeout by a policy, make batch.handlerTimeoutMs, attempts or delays smaller, or use failure.mode 'defer'.",
    judge: ofQueue((queue, { consumer }) => {
      const set = limitSetting(queue, 'consumer-timeout')
      const timeoutMs = typeof set === 'number' ? set : ackTimeoutDefaultMs
      const holdMs = longestHoldMs(consumer)
      return holdMs >= timeoutMs
        ? `queue ${queue.name} waits ${durationText(timeoutMs)}${typeof set === 'number' ? '' : ' (the default; the server does not report its setting)'}, a delivery may be held for ${durationText(holdMs)}`
        : null
    }),
  },
  {
    id: 'OW211',
    severity: 'error',
    title: 'The queue drops nothing',
    reason: 'A full queue that drops from its head, and a message that expires, lose unread messages.',
    fix: 'Set overflow to reject-publish, remove the TTL, or give the queue a dead-letter exchange.',
    judge: ofQueue(dropsOf),
  },
  {
    id: 'OW212',
    severity: 'error',
    title: 'No alarm stops publishers',
    reason:
      'During a memory or disk alarm RabbitMQ accepts no messages: relays, dead letters and producers wait.',
    fix: 'Free memory or disk, or raise the watermark.',
    judge: ({ broker }) => broker.alarms,
  },
  {
    id: 'OW213',
    severity: 'error',
    title: 'Ingested dead letters come from a queue that keeps them',
    reason: 'A dead-letter queue that is read back must exist and must have no delivery limit of its own.',
    fix: 'Create the queue with x-delivery-limit -1 and bind it to the dead-letter exchange.',
    judge: ({ declaration: { deadLetterIngest }, broker }) => {
      if (deadLetterIngest === undefined || broker.topology === null) return null
      const from = broker.queues.get(deadLetterIngest)
      if (from === undefined) return `queue ${deadLetterIngest} does not exist`
      const limit = deliveryLimit(from, broker)
      return limit === null ? null : `queue ${deadLetterIngest} has delivery limit ${limit}`
    },
  },
  {
    id: 'OW215',
    severity: 'warning',
    title: 'The dead-letter queue keeps its messages',
    reason:
      'A message that RabbitMQ dead-letters has no row in the database: if its queue drops it too, no trace is left.',
    fix: 'Remove limits and TTL from the dead-letter queue, and make it durable.',
    judge: ofRoute(({ queues }, _queue, { broker }) =>
      queues
        .flatMap(name => broker.queues.get(name) ?? [])
        .flatMap(target => [endOf(target) ?? [], dropsOf(target)].flat()),
    ),
  },
  {
    id: 'OW216',
    severity: 'error',
    title: 'Exchanges that the queue is bound to exist',
    reason: 'A consumer binds its queue and does not create exchanges: it does not start without them.',
    fix: 'Create the exchange, or correct the name in bind.',
    judge: ({ declaration: { declare, bind = [], queue }, broker: { topology } }) =>
      topology === null || declare === 'verify'
        ? null
        : bind
            .filter(({ exchange }) => !topology.exchanges.has(exchange))
            .map(
              ({ exchange }) => `queue ${queue} is to be bound to exchange ${exchange}, which does not exist`,
            ),
  },
  {
    id: 'OW217',
    severity: 'error',
    title: 'Returned messages are not delayed where order is kept',
    reason:
      'With delayed retry (RabbitMQ 4.3) a message whose process died waits in the queue, and later messages of its key are delivered before it.',
    fix: "Set delayed-retry-type to disabled or returned for the queue, or give up order: 'key'. Retries of the contract need no help of the broker.",
    judge: ofQueue((queue, { consumer }) => {
      const type = delayedRetry(queue)
      return type === null || consumer.order !== 'key'
        ? null
        : `queue ${queue.name} has delayed-retry-type ${type}, and the contract orders by key`
    }),
  },
]
