import { errorText, OncewardError } from '../../errors.ts'
import { everyUrl, firstUrl } from '../../ports/broker-url.ts'
import { readTls } from '../tls/broker-tls.ts'
import { tlsRefusal } from '../tls/tls-refusal.ts'
import { tlsOf } from '../tls/tls-url.ts'
import { getJson } from './get-json.ts'

/** The facts of a queue from the management plugin that the checks need. */
export interface QueueFacts {
  readonly arguments: Readonly<Record<string, unknown>>
  readonly type: string
  /** With policies applied: null for unlimited, undefined when the broker does not report it. */
  readonly deliveryLimit: number | null | undefined
  /**
   * With policies applied: undefined while the broker has not reported which of them apply (the first seconds
   * of a queue).
   */
  readonly hasDeadLetterExchange: boolean | undefined
  /**
   * With policies applied, in the broker's form: `x-message-ttl` of a queue, `x-max-age` of a stream. Absent:
   * messages never expire.
   */
  readonly messageTtl: unknown
  readonly maxAge: unknown
}

export type ManagementAnswer<T> = { readonly known: T } | { readonly unknown: string }

/** Queries one queue. Returns the reason when the answer is unknown; never rejects. */
export async function askQueue(
  managementUrl: string | undefined,
  amqpUrl: string,
  queue: string,
): Promise<ManagementAnswer<QueueFacts>> {
  const asked = await askManagement(
    managementUrl,
    amqpUrl,
    vhost => `queues/${vhost}/${encodeURIComponent(queue)}`,
    'object',
  )
  if ('unknown' in asked) return asked
  const reply = asked.known as QueueReply
  // An answer without the queue's name, as from a proxy, would look like a queue without any setting.
  if (reply.name !== queue || typeof reply.type !== 'string')
    return { unknown: `the management plugin's answer does not describe queue ${queue}` }
  return { known: toFacts(reply) }
}

/**
 * The expected form of an answer. Any other form comes from a proxy, another program or another version, and
 * counts as unknown.
 */
export type AnswerShape = 'object' | 'list of objects'

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const hasShape = (body: unknown, shape: AnswerShape) =>
  shape === 'object' ? isRecord(body) : Array.isArray(body) && body.every(isRecord)

/**
 * Queries anything of the virtual host, whose name is passed encoded. Only reads. Returns the reason when the
 * answer is unknown; never rejects.
 */
export async function askManagement(
  managementUrl: string | undefined,
  amqpUrl: string,
  path: (vhost: string) => string,
  shape: AnswerShape,
  timeoutMs = 10_000,
): Promise<ManagementAnswer<unknown>> {
  const base = managementUrl ?? process.env.ONCEWARD_RABBITMQ_MANAGEMENT_URL
  if (base === undefined) return { unknown: 'no management URL is set (ONCEWARD_RABBITMQ_MANAGEMENT_URL)' }
  let unknown: ManagementAnswer<unknown> = { unknown: 'the management URL is not valid' }
  for (const one of everyUrl(base)) {
    const asked = await askOne(one, amqpUrl, path, shape, timeoutMs)
    if ('known' in asked) return asked
    unknown = asked
  }
  return unknown
}

async function askOne(
  base: string,
  amqpUrl: string,
  path: (vhost: string) => string,
  shape: AnswerShape,
  timeoutMs: number,
): Promise<ManagementAnswer<unknown>> {
  try {
    const { address, authorization } = request(base, firstUrl(amqpUrl)!, path)
    const unsafe = plainTextProblem(address)
    if (unsafe !== null) return { unknown: unsafe }
    const tls = readTls(tlsOf(amqpUrl), `The management plugin at ${address.host}`)
    const { status, body } = await getJson(address, { authorization }, tls, timeoutMs)
    if (status !== 200) return { unknown: `the management plugin answered ${status}` }
    if (!hasShape(body, shape))
      return { unknown: `the management plugin's answer is not the expected ${shape}` }
    return { known: body }
  } catch (error) {
    const why = tlsRefusal(error) ?? errorText(error, 200)
    return { unknown: `the management plugin did not answer (${why})` }
  }
}

/** Every request carries the user and password. */
function plainTextProblem({ protocol, hostname, host }: URL): string | null {
  if (protocol === 'https:' || isLoopback(hostname)) return null
  return `the management plugin at ${host} was not queried: its address is not https, and the login would cross the network unencrypted. Use https (ONCEWARD_RABBITMQ_MANAGEMENT_URL), or http on this machine only`
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}

function request(
  base: string,
  amqp: URL,
  path: (vhost: string) => string,
): { readonly address: URL; readonly authorization: string } {
  const address = URL.parse(base)
  if (address === null || !/^https?:$/.test(address.protocol))
    throw new OncewardError('configuration', 'the management URL is not valid')
  const user = decodeURIComponent(address.username || amqp.username || 'guest')
  const password = decodeURIComponent(address.password || amqp.password || 'guest')
  const vhost = decodeURIComponent(amqp.pathname.slice(1)) || '/'
  address.username = ''
  address.password = ''
  const [where, query = ''] = path(encodeURIComponent(vhost)).split('?')
  address.pathname = `${address.pathname.replace(/\/$/, '')}/api/${where}`
  address.search = query
  return { address, authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` }
}

interface QueueReply {
  readonly name?: unknown
  readonly arguments?: unknown
  readonly type?: unknown
  readonly delivery_limit?: unknown
  /** Erlang's empty list when no policy applies. */
  readonly effective_policy_definition?: unknown
}

function toFacts(reply: QueueReply): QueueFacts {
  const queueArguments = isRecord(reply.arguments) ? reply.arguments : {}
  const policy = isRecord(reply.effective_policy_definition) ? reply.effective_policy_definition : {}
  return {
    arguments: queueArguments,
    type: String(reply.type),
    deliveryLimit: toLimit(
      reply.delivery_limit ?? limitInForce(queueArguments['x-delivery-limit'], policy['delivery-limit']),
    ),
    hasDeadLetterExchange: knownDeadLetterExchange(queueArguments, reply.effective_policy_definition),
    messageTtl: smallest(queueArguments['x-message-ttl'], policy['message-ttl']),
    maxAge: queueArguments['x-max-age'] ?? policy['max-age'],
  }
}

function knownDeadLetterExchange(
  queueArguments: Readonly<Record<string, unknown>>,
  policy: unknown,
): boolean | undefined {
  if (queueArguments['x-dead-letter-exchange'] !== undefined) return true
  if (Array.isArray(policy)) return false
  return isRecord(policy) ? 'dead-letter-exchange' in policy : undefined
}

function smallest(one: unknown, other: unknown): unknown {
  return typeof one === 'number' && typeof other === 'number' ? Math.min(one, other) : (one ?? other)
}

/**
 * A delivery limit takes precedence over none (a negative number), regardless of which of the two sets it.
 */
export function limitInForce(argument: unknown, policy: unknown): unknown {
  const isEitherNone =
    typeof argument === 'number' && typeof policy === 'number' && Math.min(argument, policy) < 0
  return isEitherNone ? Math.max(argument, policy) : smallest(argument, policy)
}

function toLimit(limit: unknown): number | null | undefined {
  if (typeof limit === 'number') return limit < 0 ? null : limit
  return limit === 'unlimited' ? null : undefined
}
