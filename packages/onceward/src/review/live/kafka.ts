import { topicWindow } from '../../contract/source-windows.ts'
import { kafkaAddress } from '../../drivers/broker-addresses.ts'
import type { KafkaConnectionOptions } from '../../drivers/kafka/client/connection-options.ts'
import type { ClusterState } from '../../drivers/kafka/describe-cluster.ts'
import type { TopicDeclaration } from '../../drivers/kafka/topic.ts'
import { errorText } from '../../errors.ts'
import type { Finding } from '../rule.ts'
import { silentServer, unaskedServer } from '../rules/itself.ts'
import { kafkaRules } from '../rules/kafka.ts'
import { type DeclaredOutlet, type KafkaPlace, kafkaOutletRules, outletsOf } from '../rules/outlets.ts'
import { aboutServer, type CheckAnswer, type Checked, judgeAll, type LiveAccess } from './access.ts'
import { within } from './within.ts'

/** A topic that a contract names, its cluster, and the rules to apply once the cluster has answered. */
interface Named {
  readonly topic: string
  readonly written: boolean
  readonly options: KafkaConnectionOptions
  readonly judge: (state: ClusterState) => void
}

/** Reads each cluster once, for all contracts. */
export async function checkKafka(all: readonly Checked[], access: LiveAccess): Promise<CheckAnswer> {
  const answer: CheckAnswer = { findings: [], windows: new Map(), clusters: new Map() }
  const named = all.flatMap(checked => [
    ...sourceOf(checked, access, answer),
    ...writtenBy(checked, access, answer.findings),
  ])
  const groups = Map.groupBy(named, ({ options }) => JSON.stringify(options))
  const answers = [...groups.values()].map(async group => {
    const { options } = group[0]!
    try {
      const { describeCluster } = await import('../../drivers/kafka/describe-cluster.ts')
      const names = (written: boolean) => group.filter(one => one.written === written).map(one => one.topic)
      const asked = describeCluster(options, { read: names(false), written: names(true) })
      const state = await within(access, asked)
      const unknown = [...state.topics.values()].flatMap(topic => topic.unasked ?? topic.unsampled ?? [])
      const notChecked = [...unknown, ...state.unreported]
      answer.findings.push(...aboutServer(unaskedServer, notChecked, options.bootstrap))
      for (const one of group) one.judge(state)
    } catch (error) {
      answer.findings.push(...aboutServer(silentServer, errorText(error, 500), options.bootstrap))
    }
  })
  await Promise.all(answers)
  return answer
}

function sourceOf(
  checked: Checked,
  access: LiveAccess,
  { findings, windows, clusters }: CheckAnswer,
): Named[] {
  const { consumer, file } = checked
  if (consumer.source.kind !== 'kafka') return []
  const declaration = consumer.source as TopicDeclaration
  const options = optionsOf(checked, access)
  if (options === null) {
    findings.push(...aboutServer(unaskedServer, noAddress, file, consumer.name))
    return []
  }
  const judge = (cluster: ClusterState) => {
    const topic = cluster.topics.get(declaration.topic) ?? null
    const subject = { consumer, declaration, cluster, topic }
    findings.push(...judgeAll(kafkaRules, subject, { consumer: consumer.name, place: file }))
    if (topic !== null && topic.unasked === null)
      windows.set(file, topicWindow(declaration.topic, topic.recordRetentionMs))
    if (cluster.cluster !== null) clusters.set(file, { kind: 'kafka', cluster: cluster.cluster })
  }
  return [{ topic: declaration.topic, written: false, options, judge }]
}

const noAddress = 'the address of Kafka is not set (ONCEWARD_KAFKA_BOOTSTRAP)'

/** The contract's own cluster if it reads from Kafka, as its relay does; else the configured one. */
function optionsOf({ consumer }: Checked, access: LiveAccess): KafkaConnectionOptions | null {
  const declaration = consumer.source.kind === 'kafka' ? (consumer.source as TopicDeclaration) : {}
  const connection = kafkaAddress(declaration, access.kafkaBootstrap, access)
  return connection === null ? null : { ...connection, clientId: 'onceward check' }
}

function writtenBy(checked: Checked, access: LiveAccess, findings: Finding[]): Named[] {
  const { consumer, file } = checked
  const outlets = outletsOf(consumer).filter(
    (one): one is DeclaredOutlet<KafkaPlace> => one.place.broker === 'kafka',
  )
  const options = optionsOf(checked, access)
  if (outlets.length === 0) return []
  if (options === null) {
    if (consumer.source.kind !== 'kafka')
      findings.push(...aboutServer(unaskedServer, noAddress, file, consumer.name))
    return []
  }
  const at = { consumer: consumer.name, place: file }
  return outlets.map(outlet => ({
    topic: outlet.place.topic,
    written: true,
    options,
    judge: cluster => void findings.push(...judgeAll(kafkaOutletRules, { outlet, cluster }, at)),
  }))
}
