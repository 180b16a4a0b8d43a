import { milliseconds } from './amount-kinds.ts'
import { address } from './code-kinds.ts'
import { section, unchecked } from './kind.ts'
import { option } from './option.ts'
import { text, word } from './text-kinds.ts'

const source = section("must be made by a source's own function, such as queue('payments.q')", {
  fits: value => typeof value.kind === 'string',
  allowsOtherKeys: true,
})
const timeout = milliseconds(1_000, 3_600_000)
const file = unchecked(text())

/**
 * What a policy file may say of a source: how it is reached, and how long to wait for it. The rest is its own
 * function's to refuse.
 */
export const sourceOptions = [
  option('source', source, null, { missing: true }),
  option(
    'source.url',
    address,
    'address of the RabbitMQ queue or stream (`amqp://user:password@a,b:5673,c/vhost` for the nodes of a cluster), or of the PostgreSQL queue’s database',
  ),
  option('source.managementUrl', address, "address of RabbitMQ's management plugin"),
  option('source.tls.ca', file, 'file with the authorities to trust, for Kafka, RabbitMQ and its streams', {
    defaultText: 'what Node trusts',
  }),
  option('source.tls.cert', file, 'file with our certificate, where brokers ask for one'),
  option('source.tls.key', file, 'file with its key'),
  option('source.tls.passphrase', address, 'of that key'),
  option(
    'source.tls.servername',
    file,
    "the name in the broker's certificate, where it is not the host of the address",
  ),
  option(
    'source.sasl.mechanism',
    unchecked(word(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'])),
    'how to log in to Kafka',
  ),
  option('source.sasl.username', address, 'who logs in to Kafka'),
  option('source.sasl.password', address, 'and with what'),
  option(
    'source.requestTimeoutMs',
    timeout,
    'longest wait for an answer of Kafka, beyond what it is asked to wait',
    { defaultText: '10s' },
  ),
  option('source.connectTimeoutMs', timeout, 'longest wait for a connection to Kafka', {
    defaultText: '5s',
  }),
  option('source.sessionTimeoutMs', timeout, 'silence after which Kafka gives our partitions away', {
    defaultText: "10s; with the `consumer` protocol the broker's 45s",
  }),
  option(
    'source.rebalanceTimeoutMs',
    timeout,
    'longest time to finish what is held of a partition that moves',
    { defaultText: '60s' },
  ),
  option(
    'source.addedPartitionsWaitMs',
    milliseconds(0, 2 ** 31 - 1),
    'with order by key: longest time for which partitions added to a Kafka topic wait for those before them',
    { defaultText: '10m' },
  ),
]
