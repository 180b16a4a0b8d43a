import type { BrokerIdentity } from '../../contracts/source.ts'
import { errorText } from '../../errors.ts'
import type { SourceWindow } from '../../retention/needed-retention.ts'
import { queueWindow, streamWindow } from '../../retention/source-windows.ts'
import type { QueueDeclaration } from '../../sources/rabbitmq/declaration.ts'
import type { BrokerAddress, BrokerState, QueueState } from '../../sources/rabbitmq/describe-broker.ts'
import type { StreamDeclaration } from '../../sources/rabbitmq-stream/stream.ts'
import { limitSetting, maxAgeSetting } from '../queue-setting.ts'
import type { Finding } from '../rule.ts'
import { silentServer, unaskedServer } from '../rules/itself.ts'
import { rabbitRules } from '../rules/rabbitmq.ts'
import { streamRules } from '../rules/stream.ts'
import { aboutServer, type Checked, judgeAll, type LiveAccess } from './access.ts'
import { placeOf, within } from './within.ts'

export interface LiveAnswer {
  readonly findings: readonly Finding[]
  /** By the contract's file; absent where the source was not asked. */
  readonly windows: ReadonlyMap<string, SourceWindow>
  readonly clusters: ReadonlyMap<string, BrokerIdentity>
}

interface Declared {
  readonly checked: Checked
  readonly address: BrokerAddress
  readonly queue: string
}

/** Queues and streams: each broker is asked once, however many contracts name it. */
export async function checkRabbit(all: readonly Checked[], access: LiveAccess): Promise<LiveAnswer> {
  const findings: Finding[] = []
  const windows = new Map<string, SourceWindow>()
  const clusters = new Map<string, BrokerIdentity>()
  const declared: Declared[] = []
  for (const checked of all) {
    const found = addressOf(checked, access)
    if (found === null) continue
    if (typeof found === 'string')
      findings.push(...aboutServer(unaskedServer, found, checked.file, checked.consumer.name))
    else declared.push({ checked, ...found })
  }
  const brokers = Map.groupBy(declared, ({ address }) => JSON.stringify(address))
  const answers = [...brokers.values()].map(async group => {
    const { address } = group[0]!
    const place = placeOf(address.loginUrl)
    try {
      const { describeBroker } = await import('../../sources/rabbitmq/describe-broker.ts')
      const names = [...new Set(group.map(one => one.queue))]
      const state = await within(access, describeBroker(address, names))
      findings.push(...aboutServer(unaskedServer, state.unasked, place))
      for (const one of group) {
        judge(one, state, findings, windows)
        const { kind } = one.checked.consumer.source
        if (state.cluster !== null) clusters.set(one.checked.file, { kind, cluster: state.cluster })
      }
    } catch (error) {
      findings.push(...aboutServer(silentServer, errorText(error, 500), place))
    }
  })
  await Promise.all(answers)
  return { findings, windows, clusters }
}

function addressOf({ consumer }: Checked, access: LiveAccess): Omit<Declared, 'checked'> | string | null {
  const { kind } = consumer.source
  if (kind === 'rabbitmq') {
    const {
      url = access.rabbitmqUrl,
      managementUrl = access.managementUrl,
      queue,
    } = consumer.source as QueueDeclaration
    if (url === undefined) return 'no address of RabbitMQ is known (ONCEWARD_RABBITMQ_URL)'
    return { address: { amqpUrl: url, loginUrl: url, managementUrl }, queue }
  }
  if (kind !== 'rabbitmq-stream') return null
  const { url = access.rabbitmqStreamUrl, stream } = consumer.source as StreamDeclaration
  if (url === undefined) return "no address of RabbitMQ's streams is known (ONCEWARD_RABBITMQ_STREAM_URL)"
  const { managementUrl } = access
  if (managementUrl === undefined)
    return 'streams are asked about by the management plugin, whose address is not known (ONCEWARD_RABBITMQ_MANAGEMENT_URL)'
  return { address: { amqpUrl: null, loginUrl: url, managementUrl }, queue: stream }
}

function judge(
  { checked: { consumer, file } }: Declared,
  broker: BrokerState,
  findings: Finding[],
  windows: Map<string, SourceWindow>,
): void {
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

/** A repeat may come from any partition; one that cannot be told is none to rely on. */
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
