import type { QueueState, Topology } from '../drivers/rabbitmq/describe-broker.ts'
import { setting } from './queue-setting.ts'

/** Where a queue's dead letters go. */
export interface DeadLetterRoute {
  readonly exchange: string
  /** Null: each message keeps its routing key. */
  readonly routingKey: string | null
  readonly exchangeExists: boolean
  /** The queues that every dead letter reaches; empty if some reach none. */
  readonly queues: readonly string[]
  /** A routing key whose dead letters are lost; null if there is none. */
  readonly lostWith: string | null
}

/**
 * Pure. Null for a queue without a dead-letter exchange. `comesBack`: messages wait in queues of ours, and
 * come back by the queue's name.
 */
export function deadLetterRoute(
  queue: QueueState,
  { exchanges, bindings }: Topology,
  names: ReadonlySet<string>,
  comesBack = false,
): DeadLetterRoute | null {
  const exchange = setting(queue, 'dead-letter-exchange')
  if (exchange === undefined) return null
  const fixed = setting(queue, 'dead-letter-routing-key')
  const routingKey = fixed === undefined ? null : String(fixed)
  const came = [...keysOf(queue.name, { exchanges, bindings }), ...(comesBack ? [queue.name] : [])]
  const keys = routingKey === null ? came : [routingKey]
  const name = String(exchange)
  const exchangeExists = name === '' || exchanges.has(name)
  const reached = keys.map(key => ({
    key,
    queues: reach(name, key, { exchanges, bindings }, names),
  }))
  const lost = reached.find(one => one.queues.length === 0)
  return {
    exchange: name,
    routingKey,
    exchangeExists,
    queues: lost === undefined ? [...new Set(reached.flatMap(one => one.queues))] : [],
    lostWith: lost?.key ?? null,
  }
}

/**
 * What messages of this queue may have as their key: what it is bound with, or its name where it is bound to
 * nothing but the default exchange. Patterns stay patterns, and exchanges that do not go by the key let any
 * pass.
 */
function keysOf(queue: string, { exchanges, bindings }: Topology): string[] {
  const bound = bindings.filter(one => one.source !== '' && !one.toExchange && one.destination === queue)
  const keys = bound.map(({ source, routingKey }) =>
    byKey.has(exchanges.get(source)?.type ?? 'direct') ? routingKey : '#',
  )
  return keys.length === 0 ? [queue] : [...new Set(keys)]
}

const byKey: ReadonlySet<string> = new Set(['direct', 'topic'])

/** The queues that a message with this key reaches. */
export function reach(
  exchange: string,
  key: string,
  topology: Topology,
  names: ReadonlySet<string>,
  seen = new Set<string>(),
): string[] {
  if (seen.has(exchange)) return []
  seen.add(exchange)
  if (exchange === '') return names.has(key) ? [key] : []
  const found = topology.exchanges.get(exchange)
  if (found === undefined) return []
  const taken = topology.bindings.filter(
    one => one.source === exchange && takes(found.type, one.routingKey, key),
  )
  const queues = taken.flatMap(({ destination, toExchange }) =>
    toExchange ? reach(destination, key, topology, names, seen) : names.has(destination) ? [destination] : [],
  )
  // As RabbitMQ does it: a binding that takes is enough, also one to an exchange that leads nowhere.
  if (taken.length > 0 || found.alternate === null) return queues
  return reach(found.alternate, key, topology, names, seen)
}

/**
 * Headers and plugins decide by what we cannot see: there a binding counts as one that takes. A direct
 * exchange knows no patterns: `#` bound there takes nothing but a message whose key is that character.
 */
function takes(type: string, pattern: string, key: string): boolean {
  if (type === 'direct') return pattern === key && !key.split('.').some(word => word === '*' || word === '#')
  if (type === 'topic') return topicMatches(pattern.split('.'), key.split('.'))
  return true
}

/**
 * `*` is one word, `#` any number of words. Wildcards among `words` stand for all values they may match, and
 * the pattern must match every one.
 */
export function topicMatches(pattern: readonly string[], words: readonly string[]): boolean {
  const [first, ...rest] = pattern
  if (first === undefined) return words.length === 0
  if (first === '#')
    return words.some((_, at) => topicMatches(rest, words.slice(at))) || topicMatches(rest, [])
  if (words.length === 0) return false
  return ((first === '*' && words[0] !== '#') || first === words[0]) && topicMatches(rest, words.slice(1))
}
