import type { BrokerIdentity } from '../../contracts/source.ts'
import { errorText } from '../../errors.ts'
import type { SourceWindow } from '../../retention/needed-retention.ts'
import { topicWindow } from '../../retention/source-windows.ts'
import type { KafkaConnectionOptions } from '../../sources/kafka/client/connection-options.ts'
import type { ClusterState } from '../../sources/kafka/describe-cluster.ts'
import type { TopicDeclaration } from '../../sources/kafka/topic.ts'
import type { Finding } from '../rule.ts'
import { silentServer, unaskedServer } from '../rules/itself.ts'
import { kafkaRules } from '../rules/kafka.ts'
import { aboutServer, type Checked, judgeAll, type LiveAccess } from './access.ts'
import type { LiveAnswer } from './rabbitmq.ts'
import { within } from './within.ts'

interface Declared {
  readonly checked: Checked
  readonly declaration: TopicDeclaration
  readonly options: KafkaConnectionOptions
}

/** Topics: each cluster is asked once, however many contracts name it. */
export async function checkKafka(all: readonly Checked[], access: LiveAccess): Promise<LiveAnswer> {
  const findings: Finding[] = []
  const windows = new Map<string, SourceWindow>()
  const clusters = new Map<string, BrokerIdentity>()
  const declared: Declared[] = []
  for (const checked of all.filter(({ consumer }) => consumer.source.kind === 'kafka')) {
    const declaration = checked.consumer.source as TopicDeclaration
    const { bootstrap = access.kafkaBootstrap, tls, sasl } = declaration
    if (bootstrap === undefined) {
      const text = 'no address of Kafka is known (ONCEWARD_KAFKA_BOOTSTRAP)'
      findings.push(...aboutServer(unaskedServer, text, checked.file, checked.consumer.name))
      continue
    }
    const login = { ...(tls !== undefined && { tls }), ...(sasl !== undefined && { sasl }) }
    declared.push({ checked, declaration, options: { bootstrap, clientId: 'onceward check', ...login } })
  }
  const groups = Map.groupBy(declared, ({ options }) => JSON.stringify(options))
  const answers = [...groups.values()].map(async group => {
    const { options } = group[0]!
    try {
      const { describeCluster } = await import('../../sources/kafka/describe-cluster.ts')
      const names = [...new Set(group.map(one => one.declaration.topic))]
      const state = await within(access, describeCluster(options, names))
      const unasked = [...state.topics.values()].flatMap(topic => topic.unasked ?? [])
      findings.push(...aboutServer(unaskedServer, unasked, options.bootstrap))
      for (const one of group) {
        judge(one, state, findings, windows)
        if (state.cluster !== null) clusters.set(one.checked.file, { kind: 'kafka', cluster: state.cluster })
      }
    } catch (error) {
      findings.push(...aboutServer(silentServer, errorText(error, 500), options.bootstrap))
    }
  })
  await Promise.all(answers)
  return { findings, windows, clusters }
}

function judge(
  { checked: { consumer, file }, declaration }: Declared,
  cluster: ClusterState,
  findings: Finding[],
  windows: Map<string, SourceWindow>,
): void {
  const topic = cluster.topics.get(declaration.topic) ?? null
  const subject = { consumer, declaration, cluster, topic }
  findings.push(...judgeAll(kafkaRules, subject, { consumer: consumer.name, place: file }))
  if (topic !== null && topic.unasked === null)
    windows.set(file, topicWindow(declaration.topic, topic.recordLifeMs))
}
