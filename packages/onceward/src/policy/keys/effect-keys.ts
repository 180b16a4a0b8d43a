import { envExample } from '../secret-reference.ts'
import { inMs, type PolicyKey, same } from './policy-key.ts'

const numberMax = 2 ** 31 - 1
const target = (name: string) => `effect.external.*.${name}`
const duration = { kind: 'duration', min: 1, max: numberMax } as const
const count = { kind: 'count', min: 1, max: numberMax } as const

/** What is reached outside, and where messages go. Functions (`query`, `call`, `apply`) stay in TypeScript. */
export const effectKeys: readonly PolicyKey[] = [
  {
    ...same(target('kind')),
    kind: 'word',
    words: ['http', 'webhook', 'email', 'custom'],
    description: 'how the target is spoken to. Default `http`',
  },
  {
    ...same(target('policy')),
    kind: 'word',
    words: ['keyed', 'query first', 'at most once', 'manual'],
    description: 'what may follow a call that may have happened; `keyed`: the target knows our key',
  },
  {
    ...inMs(target('queryDelay')),
    ...duration,
    description: 'how long after a lost call the query waits. Default 30s',
  },
  {
    ...inMs(target('keyLifetime')),
    kind: 'duration',
    min: 1,
    max: 365 * 86_400_000,
    description: 'how long the target remembers a key. Default 24h',
  },
  { ...inMs(target('timeout')), ...duration, description: 'of one call. Default 10s' },
  { ...same(target('attemptsMax')), ...count, description: 'calls before people are asked. Default 8' },
  { ...inMs(target('retryDelay')), ...duration, description: 'before the second call. Default 500ms' },
  { ...inMs(target('retryDelayMax')), ...duration, description: 'doubled up to here. Default 60s' },
  {
    ...same(target('concurrencyMax')),
    ...count,
    description: 'calls in flight from one dispatcher. Default 16',
  },
  {
    ...same(target('ratePerSecondMax')),
    ...count,
    description: 'calls a second from one dispatcher. Default without limit',
  },
  { ...same(target('breaker')), kind: 'off', description: '`false`: a target that fails is called on' },
  {
    ...same(target('breaker.failuresMax')),
    ...count,
    description: 'failed calls in a row after which it is left alone. Default 20',
  },
  { ...inMs(target('breaker.pause')), ...duration, description: 'for how long. Default 10s' },
  { ...same(target('url')), kind: 'text', description: 'where calls go: https, without credentials' },
  {
    ...same(target('method')),
    kind: 'word',
    words: ['POST', 'PUT', 'PATCH'],
    description: 'of an http target. Default POST',
  },
  {
    ...same(target('headers.*')),
    kind: 'header',
    description: `sent with every call; credentials as \`Bearer ${envExample}\``,
  },
  {
    ...same(target('keyHeader')),
    kind: 'text or none',
    description: 'carries the key. Default `Idempotency-Key`; `null` for a target that takes none',
  },
  {
    ...same(target('replayedHeader')),
    kind: 'text',
    description: 'present in an answer that was stored for this key. Default `Idempotent-Replayed`',
  },
  {
    ...same(target('secrets.*')),
    kind: 'secret',
    description: 'key id → secret a webhook is signed with',
  },
  {
    ...same(target('allowPrivate')),
    kind: 'flag',
    description: 'plain http, any port and private addresses. Default false',
  },
  { ...same(target('ports')), kind: 'ports', description: 'ports calls may go to. Default 443' },
  { ...same(target('host')), kind: 'text', description: 'the mail server of an email target' },
  { ...same(target('port')), kind: 'count', min: 1, max: 65_535, description: 'its port' },
  {
    ...same(target('tls')),
    kind: 'word',
    words: ['implicit', 'starttls', 'none'],
    description: 'how it is encrypted. Default `starttls`',
  },
  { ...same(target('credentials.user')), kind: 'secret', description: 'who logs in there' },
  { ...same(target('credentials.password')), kind: 'secret', description: 'and with what' },
  { ...same(target('from')), kind: 'text', description: 'the sender' },
  { ...same(target('messageIdDomain')), kind: 'text', description: "default the sender's domain" },
  {
    ...same('effect.publish.*.broker'),
    kind: 'word',
    words: ['kafka', 'cdc', 'postgres', 'rabbitmq'],
    description: 'where a publish target is',
  },
  { ...same('effect.publish.*.topic'), kind: 'text', description: 'of Kafka, or of the connector' },
  { ...same('effect.publish.*.queue'), kind: 'text', description: 'of RabbitMQ or PostgreSQL' },
  { ...same('effect.publish.*.exchange'), kind: 'text', description: 'of RabbitMQ, with a routing key' },
  { ...same('effect.publish.*.routingKey'), kind: 'text', description: 'may be empty' },
  {
    ...same('effect.publish.*.bytesMax'),
    kind: 'size',
    min: 1_024,
    max: numberMax,
    unitBytes: 1,
    description:
      "larger messages are refused. Default the Kafka topic's `max.message.bytes`, or 1048588 where the cluster does not say",
  },
  {
    ...same('effect.publish.*.evidence'),
    kind: 'flag',
    description: 'whether published messages stay known to `onceward explain`. Default false',
  },
  {
    ...same('effect.publish.*.destination'),
    kind: 'text',
    description:
      'which cluster and virtual host, as `onceward status` names it: `rabbitmq:eu-1/orders`. Default that of the address',
  },
]

const timeout = { kind: 'duration', min: 1_000, max: 3_600_000 } as const

/** What is needed to reach a source and must not stand in a file, and how long to wait for it. */
export const sourceKeys: readonly PolicyKey[] = [
  {
    ...same('source.url'),
    kind: 'address',
    description:
      'address of the RabbitMQ queue or stream (`amqp://user:password@a,b:5673,c/vhost` for the nodes of a cluster), or of the PostgreSQL queue’s database',
  },
  {
    ...same('source.managementUrl'),
    kind: 'address',
    description: "address of RabbitMQ's management plugin",
  },
  {
    ...same('source.tls.ca'),
    kind: 'text',
    description:
      'file with the authorities to trust, for Kafka, RabbitMQ and its streams. Default what Node trusts',
  },
  {
    ...same('source.tls.cert'),
    kind: 'text',
    description: 'file with our certificate, where brokers ask for one',
  },
  { ...same('source.tls.key'), kind: 'text', description: 'file with its key' },
  { ...same('source.tls.passphrase'), kind: 'address', description: 'of that key' },
  {
    ...same('source.tls.servername'),
    kind: 'text',
    description: "the name in the broker's certificate, where it is not the host of the address",
  },
  {
    ...same('source.sasl.mechanism'),
    kind: 'word',
    words: ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'],
    description: 'how to log in to Kafka',
  },
  { ...same('source.sasl.username'), kind: 'address', description: 'who logs in to Kafka' },
  { ...same('source.sasl.password'), kind: 'address', description: 'and with what' },
  {
    ...inMs('source.requestTimeout'),
    ...timeout,
    description: 'longest wait for an answer of Kafka, beyond what it is asked to wait. Default 10s',
  },
  {
    ...inMs('source.connectTimeout'),
    ...timeout,
    description: 'longest wait for a connection to Kafka. Default 5s',
  },
  {
    ...inMs('source.sessionTimeout'),
    ...timeout,
    description:
      "silence after which Kafka gives our partitions away. Default 10s; with the `consumer` protocol the broker's 45s",
  },
  {
    ...inMs('source.rebalanceTimeout'),
    ...timeout,
    description: 'longest time to finish what is held of a partition that moves. Default 60s',
  },
  {
    ...inMs('source.addedPartitionsWait'),
    kind: 'duration',
    min: 0,
    max: numberMax,
    description:
      'with order by key: longest time for which partitions added to a Kafka topic wait for those before them. Default 10m',
  },
]
