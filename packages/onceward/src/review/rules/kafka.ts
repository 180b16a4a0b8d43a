import type { Consumer } from '../../contract/define-consumer.ts'
import { isTransform } from '../../contract/define-transform.ts'
import { durationText } from '../../contract/duration.ts'
import { isGrave } from '../../contract/failure-rules.ts'
import type { ClusterState, TopicState } from '../../drivers/kafka/describe-cluster.ts'
import type { TopicDeclaration } from '../../drivers/kafka/topic.ts'
import type { Rule } from '../rule.ts'

/** A topic as a contract names it, and its actual state. */
export interface KafkaSubject {
  readonly consumer: Consumer
  readonly declaration: TopicDeclaration
  readonly cluster: ClusterState
  /** Null if it does not exist. */
  readonly topic: TopicState | null
}

type Judged = (topic: TopicState, subject: KafkaSubject) => string | null

const ofTopic =
  (judge: Judged) =>
  (subject: KafkaSubject): string | null =>
    subject.topic === null || subject.topic.unasked !== null ? null : judge(subject.topic, subject)

const number = ({ configs }: TopicState, name: string) => Number(configs.get(name) || Number.NaN)
const isCompacted = (configs: TopicState['configs']) =>
  (configs.get('cleanup.policy') ?? '').includes('compact')
const keptText = (ms: number) => (Number.isFinite(ms) ? durationText(ms) : 'without limit')
const percent = (share: number) => `${Math.round(share * 100)} %`

/** With fewer records the spread of keys is not significant. */
const sampleMin = 100
const largestShareMax = 0.5
const skewMax = 4

export const kafkaRules: readonly Rule<KafkaSubject>[] = [
  {
    id: 'OW301',
    severity: 'error',
    title: 'The topic exists',
    reason: 'A consumer does not create topics: their partitions and replicas are decided elsewhere.',
    fix: 'Create it, correct the name, or grant this login the right to see it.',
    judge: ({ topic, declaration }) => (topic === null ? `topic ${declaration.topic} does not exist` : null),
  },
  {
    id: 'OW302',
    severity: 'warning',
    title: 'A topic of events is not compacted',
    reason: 'Compaction keeps the newest record of a key: a consumer that is behind never sees the others.',
    fix: "Set cleanup.policy to delete, or read it as states: effect.apply: projection({ … }), or a handler whose schema takes null, or with message.tombstones 'handle'.",
    judge: ofTopic(({ configs }, { consumer, declaration }) =>
      isCompacted(configs) &&
      consumer.effect?.apply?.kind !== 'projection' &&
      consumer.message.tombstones !== 'handle'
        ? `topic ${declaration.topic} has cleanup.policy ${configs.get('cleanup.policy')}`
        : null,
    ),
  },
  {
    id: 'OW303',
    severity: 'warning',
    title: 'The topic keeps the records that campaigns may read',
    reason: 'A campaign that reads further back than the topic is refused, or halts with a declared loss.',
    fix: 'Raise retention.ms of the topic, or shorten replay.window.',
    judge: ofTopic((topic, { consumer, declaration }) => {
      const { windowMs } = consumer.replay
      const keptMs = number(topic, 'retention.ms')
      return windowMs !== null && keptMs >= 0 && Number.isFinite(topic.recordRetentionMs) && keptMs < windowMs
        ? `topic ${declaration.topic} keeps ${keptText(keptMs)}, replay.window is ${durationText(windowMs)}`
        : null
    }),
  },
  {
    id: 'OW304',
    severity: 'warning',
    title: 'The topic is on more than one broker',
    reason: 'With one replica a lost broker loses the records.',
    fix: 'Raise the replication factor to 3.',
    judge: ofTopic(({ replicas }, { declaration }) =>
      replicas < 2 ? `topic ${declaration.topic} has replication factor ${replicas}` : null,
    ),
  },
  {
    id: 'OW305',
    severity: 'warning',
    title: 'A write is on two brokers before it is confirmed, and one broker may be unavailable',
    reason:
      'min.insync.replicas 1 confirms records that one broker has; a value equal to the replicas stops all writers when one broker restarts.',
    fix: 'Set min.insync.replicas to 2 with replication factor 3.',
    judge: ofTopic((topic, { declaration }) => {
      const needed = number(topic, 'min.insync.replicas')
      if (Number.isNaN(needed) || (needed >= 2 && needed < topic.replicas)) return null
      return `topic ${declaration.topic} has min.insync.replicas ${needed} of ${topic.replicas} replicas`
    }),
  },
  {
    id: 'OW306',
    severity: 'error',
    title: 'Every partition has a leader and enough in-sync replicas',
    reason: 'A partition without a leader cannot be read; one below min.insync.replicas accepts no writes.',
    fix: 'Bring the missing brokers back.',
    judge: ofTopic((topic, { declaration }) => {
      if (topic.leaderless > 0) return `${topic.leaderless} partitions of ${declaration.topic} have no leader`
      const needed = number(topic, 'min.insync.replicas')
      return topic.inSync < needed
        ? `a partition of ${declaration.topic} has ${topic.inSync} in-sync replicas of ${needed} needed`
        : null
    }),
  },
  {
    id: 'OW307',
    severity: 'error',
    title: 'An out-of-sync broker does not become leader',
    reason: 'An unclean election drops confirmed records, and reuses their offsets.',
    fix: 'Set unclean.leader.election.enable to false.',
    judge: ofTopic(({ configs }, { declaration }) =>
      configs.get('unclean.leader.election.enable') === 'true'
        ? `topic ${declaration.topic} has unclean.leader.election.enable`
        : null,
    ),
  },
  {
    id: 'OW308',
    severity: 'warning',
    title: 'The group’s offsets outlive its records',
    reason:
      'A group that is idle for longer loses its offsets while its records are still there. It then halts until an operator sets a position.',
    fix: "Raise offsets.retention.minutes on the brokers, or use settle.when 'with effect', which keeps the position of a consumer in the database.",
    judge: ofTopic((topic, { cluster, consumer, declaration }) =>
      cluster.offsetsKeptMs !== null &&
      (isTransform(consumer) || consumer.settle.when !== 'with effect') &&
      topic.recordRetentionMs > cluster.offsetsKeptMs
        ? `offsets of group ${declaration.group ?? `${consumer.name}.${consumer.generation}`} are kept ${durationText(cluster.offsetsKeptMs)}, records of ${declaration.topic} ${keptText(topic.recordRetentionMs)}`
        : null,
    ),
  },
  {
    id: 'OW309',
    severity: 'note',
    title: 'The topic has more than one partition',
    reason: 'One process reads one partition, in one order over all keys.',
    fix: 'Give the topic as many partitions as processes may ever be needed; adding them later moves keys.',
    judge: ofTopic(({ partitions }, { declaration }) =>
      partitions === 1 ? `topic ${declaration.topic} has one partition` : null,
    ),
  },
  {
    id: 'OW310',
    severity: 'error',
    title: 'Records have keys where order is kept by key',
    reason:
      "A record without a key may be in any partition, so order 'key' cannot hold for it: it is quarantined.",
    fix: 'Have the producer set the key to the value that identity.orderKey reads.',
    judge: ofTopic(({ sample }, { consumer, declaration }) =>
      sample !== null && sample.withoutKey > 0 && consumer.order === 'key'
        ? `${sample.withoutKey} of the ${sample.records} newest records of ${declaration.topic} have no key`
        : null,
    ),
  },
  {
    id: 'OW311',
    severity: 'warning',
    title: 'Keys are spread over the partitions',
    reason:
      'If one key or one partition has most of the records, it is one lane: more processes do not help.',
    fix: 'Choose a key with more values, or have the producer use the default partitioner.',
    judge: ofTopic(({ sample }, { declaration }) => {
      if (sample === null) return null
      const total = sample.sizes.reduce((sum, size) => sum + size, 0)
      const mean = total / sample.sizes.length
      if (
        sample.records - sample.withoutKey >= sampleMin &&
        sample.sizes.length > 1 &&
        sample.largestShare > largestShareMax
      )
        return `one key has ${percent(sample.largestShare)} of the newest records of ${declaration.topic}`
      const largest = Math.max(0, ...sample.sizes)
      return sample.sizes.length > skewMax &&
        total >= sampleMin * sample.sizes.length &&
        largest > skewMax * mean
        ? `one partition of ${declaration.topic} has ${percent(largest / total)} of the records of ${sample.sizes.length}`
        : null
    }),
  },
  {
    id: 'OW312',
    severity: 'note',
    title: 'The clock that dates the records is known',
    reason:
      'With CreateTime the producer’s clock decides what retention removes, and which messages are behind the horizon. A wrong clock removes records early or makes a repeat look new.',
    fix: 'Set message.timestamp.type to LogAppendTime, or set identity.idTime where ids contain their time.',
    judge: ofTopic(({ configs }, { consumer, declaration }) =>
      configs.get('message.timestamp.type') === 'CreateTime' &&
      consumer.retention !== null &&
      consumer.identity.idTime === undefined &&
      isGrave(consumer.risk)
        ? `topic ${declaration.topic} has message.timestamp.type CreateTime`
        : null,
    ),
  },
  {
    id: 'OW313',
    severity: 'warning',
    title: 'Records are removed by age, not by size',
    reason:
      'With retention.bytes a burst removes records that a slow consumer has not read, regardless of retention.ms; the consumer then halts with a declared loss.',
    fix: 'Set retention.bytes to -1, or well above the volume of retention.ms, and waive this.',
    judge: ofTopic((topic, { declaration }) => {
      const bytes = number(topic, 'retention.bytes')
      const removes = (topic.configs.get('cleanup.policy') ?? '').includes('delete')
      return removes && bytes >= 0
        ? `partitions of topic ${declaration.topic} are cut at ${bytes} bytes`
        : null
    }),
  },
  {
    id: 'OW315',
    severity: 'warning',
    title: 'Deletions of a compacted topic are handled',
    reason:
      'A record without a value deletes its key. A consumer that does not declare how to handle it quarantines each of them, and keeps the deleted rows.',
    fix: "In a projection set delete: { column, when: 'tombstone' }; for a handler let the schema take null, or set message.tombstones to 'handle'.",
    judge: ofTopic(({ configs }, { consumer, declaration }) =>
      isCompacted(configs) && consumer.message.tombstones !== 'handle'
        ? `topic ${declaration.topic} is compacted, and message.tombstones is ${consumer.message.tombstones}`
        : null,
    ),
  },
]
