import type { ConsumerContract } from 'onceward'
import { topic } from 'onceward/kafka'
import { type QueueOptions, queue } from 'onceward/rabbitmq'
import { stream } from 'onceward/rabbitmq-stream'
import type { ClusterState, TopicState } from '../../src/drivers/kafka/describe-cluster.ts'
import type { BrokerState, QueueState, Topology } from '../../src/drivers/rabbitmq/describe-broker.ts'
import type { SchemaComparison } from '../../src/message/codec.ts'
import type { KafkaSubject } from '../../src/review/rules/kafka.ts'
import type { MemorySubject } from '../../src/review/rules/memory.ts'
import type { KafkaOutletSubject, RabbitOutletSubject, RabbitPlace } from '../../src/review/rules/outlets.ts'
import type { DatabaseSubject } from '../../src/review/rules/postgres.ts'
import type { RabbitSubject } from '../../src/review/rules/rabbitmq.ts'
import type { SchemaSubject } from '../../src/review/rules/schema.ts'
import type { StreamSubject } from '../../src/review/rules/stream.ts'
import { consumerWith } from './contract-pairs.ts'

interface Pair<Subject> {
  readonly bad: Subject
  readonly good: Subject
}

const day = 86_400_000

const plainQueue: QueueState = {
  name: 'q',
  type: 'quorum',
  durable: true,
  transient: false,
  arguments: { 'x-queue-type': 'quorum', 'x-delivery-limit': -1 },
  policy: {},
}
const queueWith = (settings: Record<string, unknown>, other: Partial<QueueState> = {}): QueueState => ({
  ...plainQueue,
  ...other,
  arguments: { ...plainQueue.arguments, ...settings },
})
const deadLetters = {
  'x-dead-letter-exchange': 'dlx',
  'x-dead-letter-routing-key': 'dead',
  'x-dead-letter-strategy': 'at-least-once',
  'x-overflow': 'reject-publish',
}
const bound: Topology = {
  exchanges: new Map([['dlx', { type: 'direct', alternate: null }]]),
  bindings: [{ source: 'dlx', destination: 'q.dead', toExchange: false, routingKey: 'dead' }],
}

interface RabbitScene {
  readonly queue?: QueueState | null
  readonly options?: QueueOptions
  readonly contract?: Partial<ConsumerContract>
  readonly broker?: Partial<BrokerState>
  /** Of the queue of dead letters. */
  readonly dead?: Partial<QueueState>
}

function rabbit({
  queue: found = plainQueue,
  options = { declare: 'verify' },
  contract,
  broker,
  dead = {},
}: RabbitScene): RabbitSubject {
  const declaration = queue('q', options)
  const queues = new Map<string, QueueState>([['q.dead', { ...plainQueue, name: 'q.dead', ...dead }]])
  if (found !== null) queues.set('q', found)
  return {
    consumer: consumerWith({ source: declaration, ...contract }),
    declaration,
    queue: found,
    broker: {
      version: '4.0.5',
      cluster: 'east',
      alarms: [],
      queues,
      topology: bound,
      unasked: [],
      ...broker,
    },
  }
}

export const rabbitPairs: Record<string, Pair<RabbitSubject>> = {
  OW201: { bad: rabbit({ queue: null }), good: rabbit({ queue: null, options: {} }) },
  OW202: {
    bad: rabbit({ options: {}, queue: queueWith({ 'x-delivery-limit': 5, ...deadLetters }) }),
    good: rabbit({ options: {} }),
  },
  OW203: { bad: rabbit({ queue: queueWith({}, { durable: false }) }), good: rabbit({}) },
  OW204: { bad: rabbit({ queue: queueWith({}, { type: 'classic' }) }), good: rabbit({}) },
  OW205: {
    bad: rabbit({ queue: queueWith({ 'x-delivery-limit': undefined }) }),
    good: rabbit({ queue: queueWith({ 'x-delivery-limit': undefined, ...deadLetters }) }),
  },
  OW206: {
    bad: rabbit({ queue: queueWith({ 'x-delivery-limit': 3, ...deadLetters }) }),
    good: rabbit({ queue: queueWith({ 'x-delivery-limit': 30, ...deadLetters }) }),
  },
  OW207: {
    bad: rabbit({ queue: queueWith({ ...deadLetters, 'x-dead-letter-routing-key': 'elsewhere' }) }),
    good: rabbit({ queue: queueWith(deadLetters) }),
  },
  OW208: {
    bad: rabbit({ queue: queueWith({ ...deadLetters, 'x-dead-letter-strategy': undefined }) }),
    good: rabbit({ queue: queueWith(deadLetters) }),
  },
  OW209: {
    bad: rabbit({
      queue: queueWith({ ...deadLetters, 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'q' }),
    }),
    good: rabbit({
      queue: queueWith({
        ...deadLetters,
        'x-dead-letter-exchange': '',
        'x-dead-letter-routing-key': 'q.dead',
      }),
    }),
  },
  OW210: {
    bad: rabbit({ queue: queueWith({}, { policy: { 'consumer-timeout': 60_000 } }) }),
    good: rabbit({ queue: queueWith({}, { policy: { 'consumer-timeout': 3_600_000 } }) }),
  },
  OW211: {
    bad: rabbit({ queue: queueWith({ 'x-max-length': 100 }) }),
    good: rabbit({ queue: queueWith({ 'x-max-length': 100, 'x-overflow': 'reject-publish' }) }),
  },
  OW212: { bad: rabbit({ broker: { alarms: ['memory alarm on one'] } }), good: rabbit({}) },
  OW213: {
    bad: rabbit({ options: { declare: 'verify', deadLetterIngest: 'nowhere' } }),
    good: rabbit({ options: { declare: 'verify', deadLetterIngest: 'q.dead' } }),
  },
  OW215: {
    bad: rabbit({ queue: queueWith(deadLetters), dead: { policy: { 'message-ttl': 60_000 } } }),
    good: rabbit({ queue: queueWith(deadLetters) }),
  },
  OW217: {
    bad: rabbit({
      options: { declare: 'verify', singleActiveConsumer: true },
      contract: { order: 'key', identity: { id: () => 'm', orderKey: () => 'k' } },
      broker: { version: '4.3.6' },
      queue: queueWith({ 'x-single-active-consumer': true, 'x-delayed-retry-type': 'all' }),
    }),
    good: rabbit({
      options: { declare: 'verify', singleActiveConsumer: true },
      contract: { order: 'key', identity: { id: () => 'm', orderKey: () => 'k' } },
      broker: { version: '4.3.6' },
      queue: queueWith({ 'x-single-active-consumer': true, 'x-delayed-retry-type': 'returned' }),
    }),
  },
  OW216: {
    bad: rabbit({ options: { bind: [{ exchange: 'orders', routingKey: 'paid' }] } }),
    good: rabbit({ options: { bind: [{ exchange: 'dlx', routingKey: 'paid' }] } }),
  },
}

function streamOf(
  partition: Partial<QueueState> | null,
  contract: Partial<ConsumerContract> = {},
): StreamSubject {
  const declaration = stream('s', { start: 'first' })
  const broker: BrokerState = {
    version: '4.0.5',
    cluster: 'east',
    alarms: [],
    queues: new Map(),
    topology: bound,
    unasked: [],
  }
  const found = { ...plainQueue, name: 's', type: 'stream', arguments: {}, ...partition }
  return {
    consumer: consumerWith({ source: declaration, ...contract }),
    declaration,
    broker,
    partitions: partition === null ? [] : [found],
  }
}

export const streamPairs: Record<string, Pair<StreamSubject>> = {
  OW221: { bad: streamOf(null), good: streamOf({}) },
  OW222: {
    bad: streamOf({ arguments: { 'x-max-age': '7D' } }, { replay: { window: '30d' } }),
    good: streamOf({ arguments: { 'x-max-age': '7D' } }, { replay: { window: '3d' } }),
  },
  OW223: {
    bad: streamOf({ arguments: { 'x-max-length-bytes': 1_000_000 } }),
    good: streamOf({ arguments: { 'x-max-length-bytes': 1_000_000, 'x-max-age': '7D' } }),
  },
}

const plainTopic: TopicState = {
  partitions: 6,
  replicas: 3,
  inSync: 3,
  leaderless: 0,
  configs: new Map([
    ['retention.ms', String(7 * day)],
    ['segment.ms', String(day)],
    ['cleanup.policy', 'delete'],
    ['min.insync.replicas', '2'],
    ['message.timestamp.type', 'LogAppendTime'],
    ['unclean.leader.election.enable', 'false'],
  ]),
  recordRetentionMs: 8 * day,
  sample: {
    sizes: [100, 100, 100, 100, 100, 100],
    records: 600,
    withoutKey: 0,
    largestShare: 0.01,
    keys: 300,
  },
  unsampled: null,
  unasked: null,
}

function kafka(
  topicState: Partial<TopicState> | null,
  contract: Partial<ConsumerContract> = {},
  cluster: Partial<ClusterState> = {},
): KafkaSubject {
  const declaration = topic('t', { start: 'earliest' })
  return {
    consumer: consumerWith({ source: declaration, replay: { window: '3d' }, ...contract }),
    declaration,
    cluster: {
      brokers: 3,
      cluster: 'east',
      offsetsKeptMs: 30 * day,
      unreported: [],
      topics: new Map(),
      ...cluster,
    },
    topic: topicState === null ? null : { ...plainTopic, ...topicState },
  }
}

const configured = (name: string, value: string) => ({
  configs: new Map([...plainTopic.configs, [name, value]]),
})
const keyed = {
  order: 'key',
  identity: { id: () => '1', businessKey: () => '1', orderKey: () => 'k' },
} as const
const spread = plainTopic.sample!

export const kafkaPairs: Record<string, Pair<KafkaSubject>> = {
  OW301: { bad: kafka(null), good: kafka({}) },
  OW302: { bad: kafka(configured('cleanup.policy', 'compact')), good: kafka({}) },
  OW303: { bad: kafka({}, { replay: { window: '30d' } }), good: kafka({}) },
  OW304: { bad: kafka({ replicas: 1 }), good: kafka({}) },
  OW305: { bad: kafka(configured('min.insync.replicas', '3')), good: kafka({}) },
  OW306: { bad: kafka({ inSync: 1 }), good: kafka({ inSync: 2 }) },
  OW307: { bad: kafka(configured('unclean.leader.election.enable', 'true')), good: kafka({}) },
  OW308: { bad: kafka({}, {}, { offsetsKeptMs: 7 * day }), good: kafka({}) },
  OW309: { bad: kafka({ partitions: 1 }), good: kafka({}) },
  OW310: {
    bad: kafka({ sample: { ...spread, withoutKey: 1 } }, keyed),
    good: kafka({ sample: { ...spread, withoutKey: 1 } }),
  },
  OW311: {
    bad: kafka({ sample: { ...spread, sizes: [6_000, 10, 10, 10, 10, 10] } }),
    good: kafka({ sample: { ...spread, sizes: [600, 500, 400, 700, 600, 500] } }),
  },
  OW312: { bad: kafka(configured('message.timestamp.type', 'CreateTime')), good: kafka({}) },
  OW313: {
    bad: kafka(configured('retention.bytes', '1048576')),
    good: kafka(configured('retention.bytes', '-1')),
  },
  OW315: {
    bad: kafka(configured('cleanup.policy', 'compact')),
    good: kafka(configured('cleanup.policy', 'compact'), { message: { tombstones: 'handle' } }),
  },
}

const written = (name: string): KafkaOutletSubject => ({
  outlet: { setting: 'failure.deadLetter', place: { broker: 'kafka', topic: name } },
  cluster: {
    brokers: 3,
    cluster: 'east',
    offsetsKeptMs: null,
    unreported: [],
    topics: new Map([['t.dead', plainTopic]]),
  },
})

export const kafkaOutletPairs: Record<string, Pair<KafkaOutletSubject>> = {
  OW314: { bad: written('elsewhere'), good: written('t.dead') },
}

const published = (place: RabbitPlace): RabbitOutletSubject => ({
  outlet: { setting: 'effect.publish.done', place },
  broker: rabbit({}).broker,
})

export const rabbitOutletPairs: Record<string, Pair<RabbitOutletSubject>> = {
  OW214: {
    bad: published({ broker: 'rabbitmq', exchange: 'dlx', routingKey: 'elsewhere' }),
    good: published({ broker: 'rabbitmq', exchange: 'dlx', routingKey: 'dead' }),
  },
}

function database(changes: Partial<DatabaseSubject>): DatabaseSubject {
  return {
    name: 'shop',
    role: 'app',
    superuser: false,
    versionNumber: 170_000,
    versionText: 'PostgreSQL 17.0',
    inRecovery: false,
    settings: {
      fsync: 'on',
      full_page_writes: 'on',
      synchronous_commit: 'on',
      default_transaction_isolation: 'read committed',
      default_transaction_read_only: 'off',
      autovacuum: 'on',
      track_counts: 'on',
    },
    clockMs: 1_000_000,
    wallMs: 1_000_000,
    pooling: 'none',
    schema: { version: 6, compatibleFrom: 3 },
    schemaWanted: 6,
    environment: 'production',
    consumers: [{ name: 'clean', generation: 1, dedup: 'marker', markers: true, days: true }],
    tables: [{ table: 'inbox', live: 5_000, dead: 100, autovacuum: true }],
    missingRights: [],
    readings: [],
    queues: ['invoices'],
    brokers: [{ kind: 'kafka', cluster: 'east' }],
    incarnationAccepted: true,
    oldestTransactionSeconds: 2,
    seesTransactions: true,
    ...changes,
  }
}

const set = (name: string, value: string) =>
  database({ settings: { ...database({}).settings, [name]: value } })
const inbox = { table: 'inbox', live: 5_000, dead: 100, autovacuum: true }

export const postgresPairs: Record<string, Pair<DatabaseSubject>> = {
  OW401: { bad: database({ versionNumber: 140_012 }), good: database({ versionNumber: 150_000 }) },
  OW402: { bad: set('fsync', 'off'), good: database({}) },
  OW403: { bad: set('full_page_writes', 'off'), good: database({}) },
  OW404: { bad: set('synchronous_commit', 'off'), good: set('synchronous_commit', 'local') },
  OW405: { bad: database({ inRecovery: true }), good: database({}) },
  OW406: { bad: set('default_transaction_isolation', 'serializable'), good: database({}) },
  OW407: { bad: database({ pooling: 'statement' }), good: database({ pooling: 'session' }) },
  OW408: { bad: database({ pooling: 'transaction' }), good: database({ pooling: 'session' }) },
  OW409: { bad: database({ tables: [{ ...inbox, autovacuum: false }] }), good: database({}) },
  OW410: {
    bad: database({ tables: [{ ...inbox, dead: 60_000 }] }),
    good: database({ tables: [{ ...inbox, live: 900_000, dead: 60_000 }] }),
  },
  OW411: { bad: database({ clockMs: 1_100_000 }), good: database({ clockMs: 1_010_000 }) },
  OW412: { bad: database({ clockMs: 9_000_000 }), good: database({ clockMs: 1_100_000 }) },
  OW413: { bad: database({ missingRights: ['insert on onceward.inbox'] }), good: database({}) },
  OW414: { bad: database({ superuser: true }), good: database({}) },
  OW415: { bad: database({ schema: { version: 5, compatibleFrom: 3 } }), good: database({}) },
  OW417: { bad: database({ incarnationAccepted: false }), good: database({ incarnationAccepted: null }) },
  OW416: { bad: database({ oldestTransactionSeconds: 9_000 }), good: database({}) },
}

function memory(changes: Partial<MemorySubject>, contract: Partial<ConsumerContract> = {}): MemorySubject {
  return {
    consumer: consumerWith(contract),
    database: database({}),
    window: { ms: day, by: 'the message TTL of queue q' },
    unfit: null,
    cluster: null,
    environment: 'production',
    checkedNames: new Set(['clean']),
    ...changes,
  }
}

const forgets = { retention: { markers: '3d' }, replay: { window: '1d' } } as const
const inDays = {
  identity: { id: { property: 'messageId' }, idTime: 'uuidv7' },
  retention: { markers: '30d', partitions: 'daily' },
} as const
const other = { name: 'payments_old', generation: 1, dedup: 'marker', markers: true, days: false }

const read = { kind: 'rabbitmq', place: 'payments.q', reader: '' }

export const memoryPairs: Record<string, Pair<MemorySubject>> = {
  OW501: {
    bad: memory({ window: { ms: 8 * day, by: 'topic t' } }, forgets),
    good: memory({ window: { ms: 2 * day, by: 'topic t' } }, forgets),
  },
  OW502: {
    bad: memory({ window: { unknown: 'it has no TTL' } }, forgets),
    good: memory(
      { window: { unknown: 'it has no TTL' } },
      { ...forgets, retention: { markers: '3d', sourceKeeps: '2d' } },
    ),
  },
  OW503: { bad: memory({ environment: 'staging' }), good: memory({}) },
  OW504: { bad: memory({ environment: undefined }), good: memory({}) },
  OW505: {
    bad: memory({ database: database({ consumers: [other] }) }),
    good: memory({
      database: database({ consumers: [other] }),
      checkedNames: new Set(['clean', 'payments_old']),
    }),
  },
  OW506: {
    bad: memory({ database: database({ consumers: [{ ...other, name: 'clean', generation: 2 }] }) }),
    good: memory({}, { generation: 2 }),
  },
  OW507: {
    bad: memory({ database: database({ consumers: [{ ...other, name: 'clean', dedup: 'version' }] }) }),
    good: memory({}),
  },
  OW509: {
    bad: memory({ database: database({ readings: [{ ...read, name: 'payments_old' }] }) }),
    good: memory({
      database: database({
        readings: [
          { ...read, name: 'payments_old' },
          { ...read, name: 'clean' },
        ],
      }),
    }),
  },
  OW510: {
    bad: memory({ cluster: { kind: 'kafka', cluster: 'west' } }),
    good: memory({ cluster: { kind: 'kafka', cluster: 'east' } }),
  },
  OW508: { bad: memory({ unfit: 'there is no table payment' }), good: memory({}) },
  OW511: {
    bad: memory({}, { effect: { publish: { next: { broker: 'postgres', queue: 'invoice' } } } }),
    good: memory({}, { effect: { publish: { next: { broker: 'postgres', queue: 'invoices' } } } }),
  },
  OW512: {
    bad: memory({ database: database({ consumers: [{ ...other, name: 'clean' }] }) }, inDays),
    good: memory({}, inDays),
  },
}

const comparison = {
  subject: 'payments-value',
  registry: 'https://registry.example',
  versions: 2,
  unreadable: [],
  refused: [],
  notCompared: null,
} satisfies SchemaComparison
const compared = { comparison, next: true }

export const schemaPairs: Readonly<
  Record<string, { readonly bad: SchemaSubject; readonly good: SchemaSubject }>
> = {
  OW601: {
    bad: { comparison: { ...comparison, unreadable: [{ version: 1, reason: 'no default' }] }, next: false },
    good: compared,
  },
  OW602: {
    bad: {
      comparison: { ...comparison, unreadable: [{ version: 'next', reason: 'no default' }] },
      next: true,
    },
    good: compared,
  },
  OW603: {
    bad: { comparison: { ...comparison, refused: ['it is not compatible'] }, next: true },
    good: compared,
  },
  OW604: {
    bad: { comparison: { ...comparison, notCompared: 'no reader schema' }, next: false },
    good: compared,
  },
}
