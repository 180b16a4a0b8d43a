import type { SourceWindow } from '../../contract/needed-retention.ts'
import { queueWindow, streamWindow } from '../../contract/source-windows.ts'
import { rabbitAddress } from '../../drivers/broker-addresses.ts'
import { virtualHostOf } from '../../drivers/rabbitmq/address.ts'
import type { QueueDeclaration } from '../../drivers/rabbitmq/declaration.ts'
import type { BrokerAddress, BrokerState, QueueState } from '../../drivers/rabbitmq/describe-broker.ts'
import { readAddress } from '../../drivers/rabbitmq-stream/address.ts'
import type { StreamDeclaration } from '../../drivers/rabbitmq-stream/stream.ts'
import { errorText } from '../../errors.ts'
import { limitSetting, maxAgeSetting } from '../queue-setting.ts'
import type { Finding } from '../rule.ts'
import { silentServer, unaskedServer } from '../rules/itself.ts'
import { type DeclaredOutlet, outletsOf, type RabbitPlace, rabbitOutletRules } from '../rules/outlets.ts'
import { rabbitRules } from '../rules/rabbitmq.ts'
import { streamRules } from '../rules/stream.ts'
import { aboutServer, type CheckAnswer, type Checked, judgeAll, type LiveAccess } from './access.ts'
import { placeOf, within } from './within.ts'

/**
 * A queue or exchange that a contract names, its broker, and the rules to apply once the broker has answered.
 */
interface Named {
  readonly address: BrokerAddress
  /** None for an exchange. */
  readonly queue: readonly string[]
  readonly judge: (state: BrokerState) => void
}

/** Reads each broker once, for the queues, streams and publish targets of all contracts. */
export async function checkRabbit(all: readonly Checked[], access: LiveAccess): Promise<CheckAnswer> {
  const answer: CheckAnswer = { findings: [], windows: new Map(), clusters: new Map() }
  const named = all.flatMap(checked => [
    ...sourceOf(checked, access, answer),
    ...publishedBy(checked, access, answer.findings),
  ])
  const brokers = Map.groupBy(named, ({ address }) => JSON.stringify(address))
  const answers = [...brokers.values()].map(async group => {
    const { address } = group[0]!
    const place = placeOf(address.loginUrl)
    try {
      const { describeBroker } = await import('../../drivers/rabbitmq/describe-broker.ts')
      const names = [...new Set(group.flatMap(one => one.queue))]
      const state = await within(access, describeBroker(address, names))
      answer.findings.push(...aboutServer(unaskedServer, state.unasked, place))
      for (const one of group) one.judge(state)
    } catch (error) {
      answer.findings.push(...aboutServer(silentServer, errorText(error, 500), place))
    }
  })
  await Promise.all(answers)
  return answer
}

function sourceOf(checked: Checked, access: LiveAccess, answer: CheckAnswer): Named[] {
  const { consumer, file } = checked
  const found = addressOf(checked, access)
  if (found === null) return []
  if (typeof found === 'string') {
    answer.findings.push(...aboutServer(unaskedServer, found, file, consumer.name))
    return []
  }
  const judgeSource = (state: BrokerState) => {
    judge(checked, state, answer)
    // As a running consumer reports it, for queues and streams alike.
    if (state.cluster === null) return
    const { loginUrl } = found.address
    const isStream = consumer.source.kind === 'rabbitmq-stream'
    const virtualHost = isStream ? readAddress(loginUrl, 'The stream').vhost : virtualHostOf(loginUrl)
    answer.clusters.set(file, { kind: 'rabbitmq', cluster: state.cluster, virtualHost })
  }
  return [{ address: found.address, queue: [found.queue], judge: judgeSource }]
}

/** Publish targets over AMQP: on the broker of the contract's own queue, or the configured one. */
function publishedBy({ consumer, file }: Checked, access: LiveAccess, findings: Finding[]): Named[] {
  const outlets = outletsOf(consumer).filter(
    (one): one is DeclaredOutlet<RabbitPlace> => one.place.broker === 'rabbitmq',
  )
  if (outlets.length === 0) return []
  const own = consumer.source.kind === 'rabbitmq' ? (consumer.source as QueueDeclaration) : null
  const url = rabbitAddress(own ?? {}, access.rabbitmqUrl, access)
  if (url === undefined) {
    if (own === null) findings.push(...aboutServer(unaskedServer, noAddress, file, consumer.name))
    return []
  }
  const managementUrl = own?.managementUrl ?? access.managementUrl
  const at = { consumer: consumer.name, place: file }
  return outlets.map(outlet => ({
    address: { amqpUrl: url, loginUrl: url, managementUrl },
    queue: 'queue' in outlet.place ? [outlet.place.queue] : [],
    judge: broker => void findings.push(...judgeAll(rabbitOutletRules, { outlet, broker }, at)),
  }))
}

const noAddress = 'no address of RabbitMQ is known (ONCEWARD_RABBITMQ_URL)'

function addressOf(
  { consumer }: Checked,
  access: LiveAccess,
): { readonly address: BrokerAddress; readonly queue: string } | string | null {
  const { kind } = consumer.source
  if (kind === 'rabbitmq') {
    const declared = consumer.source as QueueDeclaration
    const { managementUrl = access.managementUrl, queue } = declared
    const url = rabbitAddress(declared, access.rabbitmqUrl, access)
    if (url === undefined) return noAddress
    return { address: { amqpUrl: url, loginUrl: url, managementUrl }, queue }
  }
  if (kind !== 'rabbitmq-stream') return null
  const declared = consumer.source as StreamDeclaration
  const { stream } = declared
  const url = rabbitAddress(declared, access.rabbitmqStreamUrl, access)
  if (url === undefined) return "no address of RabbitMQ's streams is known (ONCEWARD_RABBITMQ_STREAM_URL)"
  const { managementUrl } = access
  if (managementUrl === undefined)
    return 'streams are asked about by the management plugin, whose address is not known (ONCEWARD_RABBITMQ_MANAGEMENT_URL)'
  return { address: { amqpUrl: null, loginUrl: url, managementUrl }, queue: stream }
}

function judge({ consumer, file }: Checked, broker: BrokerState, { findings, windows }: CheckAnswer): void {
  const at = { consumer: consumer.name, place: file }
  if (consumer.source.kind === 'rabbitmq-stream') {
    const declaration = consumer.source as StreamDeclaration
    const partitions = partitionsOf(declaration, broker)
    findings.push(...judgeAll(streamRules, { consumer, declaration, broker, partitions }, at))
    const asked = partitions.map(one => streamWindow(declaration.stream, maxAgeSetting(one)))
    if (asked.length > 0) windows.set(file, asked.reduce(longest))
    return
  }
  const declaration = consumer.source as QueueDeclaration
  const queue = broker.queues.get(declaration.queue) ?? null
  findings.push(...judgeAll(rabbitRules, { consumer, declaration, broker, queue }, at))
  if (broker.topology === null) return
  const ttl = queue === null ? declaration.arguments?.['x-message-ttl'] : limitSetting(queue, 'message-ttl')
  windows.set(file, queueWindow(declaration.queue, ttl))
}

/**
 * A repeat may come from any partition, so the longest window counts; an unknown one makes the result
 * unknown.
 */
function longest(one: SourceWindow, other: SourceWindow): SourceWindow {
  if ('unknown' in one || 'unknown' in other) return 'unknown' in one ? one : other
  return one.ms >= other.ms ? one : other
}

/** A super stream is an exchange whose bindings lead to its partitions. */
function partitionsOf(
  { stream, superStream }: StreamDeclaration,
  { queues, topology }: BrokerState,
): QueueState[] {
  const names = superStream
    ? (topology?.bindings ?? [])
        .filter(one => one.source === stream && !one.toExchange)
        .map(one => one.destination)
    : [stream]
  return names.flatMap(name => queues.get(name) ?? [])
}
