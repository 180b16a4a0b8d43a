import { errorText, OncewardError } from '../../errors.ts'
import { assertUrl } from './address.ts'
import { type Connection, openConnection, refusal } from './connection.ts'
import { type AnswerShape, askManagement, isRecord, type ManagementAnswer } from './management.ts'
import { exists } from './topology.ts'

/** The state of a virtual host that a check needs. */
export interface BrokerState {
  readonly version: string
  /** The announced cluster name; null when AMQP was not used or none is announced. */
  readonly cluster: string | null
  /** Descriptions, as `memory alarm on rabbit@one`. */
  readonly alarms: readonly string[]
  /** By name. Without the management plugin only the requested queues that exist, with their names alone. */
  readonly queues: ReadonlyMap<string, QueueState>
  /** Null without the management plugin. */
  readonly topology: Topology | null
  /** Facts that could not be determined, with the reason. */
  readonly unasked: readonly string[]
}

export interface Topology {
  readonly exchanges: ReadonlyMap<string, ExchangeState>
  readonly bindings: readonly BindingState[]
}

export interface QueueState {
  readonly name: string
  readonly type: string
  readonly durable: boolean
  readonly transient: boolean
  readonly arguments: Readonly<Record<string, unknown>>
  /** The settings of the policies in force, under their names: `delivery-limit`. */
  readonly policy: Readonly<Record<string, unknown>>
}

export interface ExchangeState {
  readonly type: string
  readonly alternate: string | null
}

export interface BindingState {
  readonly source: string
  readonly destination: string
  readonly toExchange: boolean
  readonly routingKey: string
}

export interface BrokerAddress {
  /**
   * The AMQP address; null when only the management plugin is queried, as for streams, with the login and
   * virtual host of `loginUrl`.
   */
  readonly amqpUrl: string | null
  readonly loginUrl: string
  readonly managementUrl: string | undefined
}

const listTimeoutMs = 8_000

/** Declares nothing. Rejects with an operational error when the broker does not answer at all. */
export async function describeBroker(
  { amqpUrl, loginUrl, managementUrl }: BrokerAddress,
  queues: readonly string[],
): Promise<BrokerState> {
  const asked = askForAll(managementUrl, loginUrl).catch(error => ({
    unknown: `the management plugin's answers are invalid (${errorText(error, 200)})`,
  }))
  // The consumer uses AMQP, so AMQP is tested even when the plugin answers everything.
  const spoken = amqpUrl === null ? null : await askByAmqp(amqpUrl, queues, asked)
  const answered = await asked
  const foreign = 'known' in answered && spoken !== null ? otherCluster(spoken.cluster, answered.known) : null
  const managed = foreign === null ? answered : { unknown: foreign }
  if ('known' in managed)
    return {
      ...managed.known,
      version: spoken?.version ?? managed.known.version,
      cluster: spoken?.cluster ?? managed.known.cluster,
    }
  if (spoken === null) {
    throw new OncewardError(
      'broker_unreachable',
      `RabbitMQ could not be queried: ${managed.unknown}. Nothing was changed.`,
    )
  }
  return {
    version: spoken.version,
    cluster: spoken.cluster,
    alarms: [],
    queues: new Map([...spoken.existing].map(name => [name, nameOnly(name)])),
    topology: null,
    unasked: [`arguments, policies, bindings and alarms: ${managed.unknown}`],
  }
}

/** Checks which queues exist only when the plugin does not answer. */
async function askByAmqp(
  url: string,
  queues: readonly string[],
  managed: Promise<ManagementAnswer<BrokerState>>,
) {
  let connection: Connection | null = null
  try {
    connection = await openConnection(assertUrl(url, 'A check of RabbitMQ'), 'check')
    const existing = new Set<string>()
    const known = await managed
    if ('unknown' in known || otherCluster(connection.cluster, known.known) !== null)
      for (const queue of queues) if (await exists(connection, queue)) existing.add(queue)
    return { version: connection.brokerVersion, cluster: connection.cluster, existing }
  } catch (error) {
    throw (
      refusal(error, 'A check of RabbitMQ') ??
      new OncewardError(
        'broker_unreachable',
        `RabbitMQ does not answer: ${errorText(error, 300)}. Nothing was changed.`,
        { cause: error },
      )
    )
  } finally {
    await connection?.close(1_000)
  }
}

/**
 * Why the plugin's answers do not describe the broker at the AMQP address. A node name (`rabbit@host`) does
 * not identify its cluster.
 */
function otherCluster(spoken: string | null, { cluster }: Pick<BrokerState, 'cluster'>): string | null {
  if (spoken === null || cluster === null || spoken === cluster) return null
  if (spoken.includes('@') && cluster.includes('@')) return null
  return `the management plugin belongs to cluster ${cluster}, but the AMQP address to cluster ${spoken}: correct one of the two addresses`
}

async function askForAll(
  managementUrl: string | undefined,
  url: string,
): Promise<ManagementAnswer<BrokerState>> {
  const ask = (path: (vhost: string) => string, shape: AnswerShape = 'list of objects') =>
    askManagement(managementUrl, url, path, shape, listTimeoutMs)
  const overview = await ask(() => 'overview', 'object')
  if ('unknown' in overview) return overview
  const [queues, exchanges, bindings, policies, operator, nodes] = await Promise.all([
    ask(vhost => `queues/${vhost}?disable_stats=true`),
    ask(vhost => `exchanges/${vhost}`),
    ask(vhost => `bindings/${vhost}`),
    ask(vhost => `policies/${vhost}`),
    ask(vhost => `operator-policies/${vhost}`),
    ask(() => 'nodes'),
  ])
  for (const needed of [queues, exchanges, bindings]) if ('unknown' in needed) return needed
  const unasked: string[] = []
  const listOf = (asked: typeof queues, what: string) => {
    if ('known' in asked) return asked.known as readonly Reply[]
    unasked.push(`${what}: ${asked.unknown}`)
    return []
  }
  const definitions = {
    policies: definitionsOf(listOf(policies, 'policies')),
    operator: definitionsOf(listOf(operator, 'operator policies')),
  }
  const states = listOf(queues, 'queues').map(reply => toQueue(reply, definitions))
  const known: BrokerState = {
    version: textOf((overview.known as Reply).rabbitmq_version),
    cluster: textOf((overview.known as Reply).cluster_name) || null,
    alarms: listOf(nodes, 'alarms').flatMap(alarmsOf),
    queues: new Map(states.map(state => [state.name, state])),
    topology: {
      exchanges: new Map(
        listOf(exchanges, 'exchanges').map(reply => toExchange(reply, definitions.policies)),
      ),
      bindings: listOf(bindings, 'bindings').map(toBinding),
    },
    unasked,
  }
  return { known }
}

// biome-ignore lint/suspicious/noExplicitAny: replies of the plugin, read field by field
type Reply = any
type Definitions = ReadonlyMap<string, Readonly<Record<string, unknown>>>

const definitionsOf = (policies: readonly Reply[]): Definitions =>
  new Map(policies.map(policy => [textOf(policy.name), recordOf(policy.definition)]))

const recordOf = (value: unknown) => (isRecord(value) ? value : {})
/** A table in place of a name would make the conversion throw. */
const textOf = (value: unknown) =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : ''

function toQueue(
  reply: Reply,
  { policies, operator }: { policies: Definitions; operator: Definitions },
): QueueState {
  const stated = reply.effective_policy_definition
  const named = merged(policies.get(reply.policy) ?? {}, operator.get(reply.operator_policy) ?? {})
  return {
    name: textOf(reply.name),
    type: textOf(reply.type) || 'classic',
    durable: reply.durable === true,
    transient: reply.exclusive === true || reply.auto_delete === true,
    arguments: recordOf(reply.arguments),
    policy: { ...named, ...recordOf(stated) },
  }
}

/** An operator policy can only lower numbers. */
function merged(own: Readonly<Record<string, unknown>>, operator: Readonly<Record<string, unknown>>) {
  const both: Record<string, unknown> = { ...own }
  for (const [name, value] of Object.entries(operator)) {
    const mine = own[name]
    both[name] = typeof mine === 'number' && typeof value === 'number' ? Math.min(mine, value) : value
  }
  return both
}

function toExchange(reply: Reply, policies: Definitions): [string, ExchangeState] {
  const name = 'alternate-exchange'
  const alternate = recordOf(reply.arguments)[name] ?? policies.get(reply.policy)?.[name]
  return [
    textOf(reply.name),
    { type: textOf(reply.type), alternate: alternate === undefined ? null : textOf(alternate) },
  ]
}

function toBinding(reply: Reply): BindingState {
  return {
    source: textOf(reply.source),
    destination: textOf(reply.destination),
    toExchange: reply.destination_type === 'exchange',
    routingKey: textOf(reply.routing_key),
  }
}

function alarmsOf(node: Reply): string[] {
  const alarms: string[] = []
  if (node.mem_alarm === true) alarms.push(`memory alarm on ${textOf(node.name)}`)
  if (node.disk_free_alarm === true) alarms.push(`disk alarm on ${textOf(node.name)}`)
  return alarms
}

function nameOnly(name: string): QueueState {
  return { name, type: 'unknown', durable: true, transient: false, arguments: {}, policy: {} }
}
