import { errorText, OncewardError } from '../../errors.ts'
import { assertUrl } from './address.ts'
import { type Connection, openConnection, refusal, withChannel } from './connection.ts'
import {
  declaredLimit,
  limitWithoutDeadLetters,
  type QueueDeclaration,
  queueArguments,
} from './declaration.ts'
import { askQueue, type QueueFacts } from './management.ts'

/**
 * Creates or verifies the queue and rejects one that would lose messages. Resolves with warnings about what
 * could not be checked. Rejects with an operational error when a retry cannot help.
 */
export async function prepareQueue(
  connection: Connection,
  declaration: QueueDeclaration,
  url: string,
): Promise<readonly string[]> {
  const { queue } = declaration
  await checkDeadLetterExchange(connection, declaration)
  if (declaration.declare === 'verify') await verifyExists(connection, queue)
  else await declareQueue(connection, declaration, url)
  const asked = await askQueue(declaration.managementUrl, url, queue)
  if ('known' in asked) return checkFacts(connection, declaration, asked.known)
  if (declaration.declare !== 'verify') return []
  return [
    `The arguments of queue ${queue} could not be checked: ${asked.unknown}. If it has a delivery limit (20 by default since RabbitMQ 4.0) and no dead-letter exchange, messages can be lost.`,
  ]
}

/** Declares the queue for copies of dead letters, so that a mandatory publish to it is routable. */
export function ensureDeadLetterQueue(url: string, name: string, signal?: AbortSignal): Promise<void> {
  const declare = async (connection: Connection) => {
    if (await exists(connection, name)) return
    await declareQueue(connection, { kind: 'rabbitmq', queue: name }, url)
  }
  return declareAll(url, `Dead-letter queue ${name}`, declare, signal)
}

/** Declares queues; one that exists with other arguments is rejected. */
export function ensureQueues(
  url: string,
  declarations: readonly QueueDeclaration[],
  purpose: string,
  signal?: AbortSignal,
): Promise<void> {
  const declare = async (connection: Connection) => {
    for (const declaration of declarations) await declareQueue(connection, declaration, url)
  }
  return declareAll(url, purpose, declare, signal)
}

async function declareAll(
  url: string,
  purpose: string,
  declare: (connection: Connection) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  try {
    const connection = await openConnection(assertUrl(url, purpose), 'declares queues', signal)
    const cut = () => connection.destroy()
    signal?.addEventListener('abort', cut)
    try {
      await declare(connection)
    } finally {
      signal?.removeEventListener('abort', cut)
      await connection.close(signal?.aborted ? 0 : 5_000)
    }
  } catch (error) {
    throw (
      refusal(error, purpose) ??
      new OncewardError(
        'broker_unreachable',
        `${purpose} could not be declared: ${errorText(error)}. Nothing was lost; try again when the broker is available.`,
        { cause: error },
      )
    )
  }
}

async function declareQueue(
  connection: Connection,
  declaration: QueueDeclaration,
  url: string,
): Promise<void> {
  const { queue, bind = [] } = declaration
  const asked = queueArguments(declaration, connection.brokerVersion)
  try {
    await withChannel(connection, async channel => {
      await channel.assertQueue(queue, { durable: true, arguments: asked })
      for (const { exchange, routingKey } of bind) await channel.bindQueue(queue, exchange, routingKey)
    })
  } catch (error) {
    const code = replyCode(error)
    if (code === 406) throw await mismatch(declaration, asked, errorText(error), url)
    if (code === 404)
      throw missing(`Queue ${queue} cannot be bound: ${errorText(error)}`, 'Declare the exchange first.')
    throw error
  }
}

async function verifyExists(connection: Connection, queue: string): Promise<void> {
  if (await exists(connection, queue)) return
  throw missing(
    `Queue ${queue} does not exist, and the contract leaves its declaration to others.`,
    "Create it, correct the name, or let Onceward declare it with declare: 'declare'.",
  )
}

export async function exists(connection: Connection, queue: string): Promise<boolean> {
  try {
    await withChannel(connection, channel => channel.checkQueue(queue))
    return true
  } catch (error) {
    if (replyCode(error) === 404) return false
    throw error
  }
}

/**
 * At-least-once dead-lettering keeps messages with a missing target indefinitely, so it is reported at once.
 */
async function checkDeadLetterExchange(connection: Connection, declaration: QueueDeclaration): Promise<void> {
  const { queue, deadLetterExchange: exchange, deadLetterRoutingKey } = declaration
  if (exchange === undefined || declaration.declare === 'verify') return
  const target = exchange === '' ? `queue ${deadLetterRoutingKey}` : `exchange ${exchange}`
  try {
    if (exchange !== '') await withChannel(connection, channel => channel.checkExchange(exchange))
    else if (await exists(connection, deadLetterRoutingKey!)) return
    else throw Object.assign(new Error('no such queue'), { code: 404 })
  } catch (error) {
    if (replyCode(error) !== 404) throw error
    throw new OncewardError(
      'topology_unsafe',
      `Queue ${queue} dead-letters to ${target}, which does not exist. Nothing was consumed. Declare it first, with a queue that keeps the messages.`,
      { cause: error },
    )
  }
}

/** Checks the queue's actual settings, including policies. */
function checkFacts(connection: Connection, declaration: QueueDeclaration, facts: QueueFacts): string[] {
  const { queue, singleActiveConsumer } = declaration
  if (singleActiveConsumer && facts.arguments['x-single-active-consumer'] !== true) {
    throw new OncewardError(
      'topology_mismatch',
      `Queue ${queue} was declared by others without x-single-active-consumer, so two consumers would handle messages of one key at the same time. Nothing was consumed. Recreate the queue with it, or drop singleActiveConsumer and order: 'key'.`,
    )
  }
  const limit = facts.type === 'quorum' ? limitOf(connection, facts) : null
  if (limit === null) return []
  if (facts.hasDeadLetterExchange) return warnOfAgeing(declaration, limit)
  const unsafe = limitWithoutDeadLetters(queue, limit)
  if (facts.hasDeadLetterExchange === false) throw unsafe
  return [
    `The broker does not report yet which policies apply to the queue. Unless one names a dead-letter exchange: ${unsafe.message}`,
  ]
}

/** The finite limit in force, null for none. Brokers from 4.0 on set one by default. */
export function limitOf({ brokerVersion }: Connection, { deliveryLimit }: QueueFacts): number | null {
  if (deliveryLimit !== undefined) return deliveryLimit
  return Number.parseInt(brokerVersion, 10) >= 4 ? 20 : null
}

function warnOfAgeing({ queue, declare, deadLetterIngest }: QueueDeclaration, limit: number): string[] {
  if (declare !== 'verify' || deadLetterIngest !== undefined) return []
  return [
    `Queue ${queue} has delivery limit ${limit}: when a process crashes, RabbitMQ counts a delivery for everything it had prefetched, and after ${limit + 1} of them dead-letters messages whose handler never ran. Name the dead-letter queue as deadLetterIngest to read them back, or set x-delivery-limit to -1.`,
  ]
}

async function mismatch(
  declaration: QueueDeclaration,
  asked: Record<string, unknown>,
  said: string,
  url: string,
): Promise<OncewardError> {
  const { queue } = declaration
  const facts = await askQueue(declaration.managementUrl, url, queue)
  const differences = 'known' in facts ? diffArguments(asked, facts.known.arguments) : []
  const lines = differences.length > 0 ? differences : [diffFromReply(said)]
  return new OncewardError(
    'topology_mismatch',
    `Queue ${queue} exists with other arguments than the contract declares:\n${lines.map(line => `  ${line}`).join('\n')}\nNothing was changed or consumed. Change the declaration to match, move the messages to a new queue, or use declare: 'verify' if the queue belongs to others.${declaredLimit(declaration) === null ? ' RabbitMQ 4 sets a delivery limit of 20 by default; a contract declares unlimited (-1) unless it names one.' : ''}`,
    { details: { queue, differences: lines, broker: said } },
  )
}

/** `x-delivery-limit: asked -1, the queue has 5`, one line per differing argument. */
export function diffArguments(
  asked: Record<string, unknown>,
  actual: Readonly<Record<string, unknown>>,
): string[] {
  const names = Object.keys({ ...asked, ...actual })
  return names
    .filter(name => String(asked[name]) !== String(actual[name]))
    .map(name => `${name}: asked ${asked[name] ?? 'none'}, the queue has ${actual[name] ?? 'none'}`)
}

/** The broker names only the first differing argument. */
export function diffFromReply(said: string): string {
  const named = /inequivalent arg '([^']+)'.*?: received (.*?) but current is (.*?)(?:"|$)/s.exec(said)
  if (named === null) return said
  const value = (text: string) =>
    /the value '([^']*)'/.exec(text)?.[1] ?? /'([^']*)'/.exec(text)?.[1] ?? text.trim()
  return `${named[1]}: asked ${value(named[2]!)}, the queue has ${value(named[3]!)} (the broker names the first difference only)`
}

export function missing(what: string, fix: string): OncewardError {
  return new OncewardError('configuration', `${what} Nothing was consumed. ${fix}`, {
    details: { missing: true },
  })
}

function replyCode(error: unknown): unknown {
  return (error as { code?: unknown } | null)?.code
}
