import { milliseconds } from './amount-kinds.ts'
import { address } from './code-kinds.ts'
import { section, unchecked } from './kind.ts'
import { option } from './option.ts'
import { flag, text, word } from './text-kinds.ts'

const source = section("must be made by a source's own function, such as queue('payments.q')", {
  fits: value => typeof value.kind === 'string',
  allowsOtherKeys: true,
})
const timeout = milliseconds(1_000, 3_600_000)
const file = unchecked(text())

/**
 * Options of a source that a policy file may set: addresses, credentials and timeouts. The source's own
 * function checks all others.
 */
export const sourceOptions = [
  option('source', source, null, { missing: true }),
  option(
    'source.url',
    address,
    'address of the RabbitMQ queue or stream (`amqp://user:password@a,b:5673,c/vhost` for a cluster), or of the database with the PostgreSQL queue',
  ),
  option('source.managementUrl', address, "address of RabbitMQ's management plugin"),
  option(
    'source.tls',
    unchecked(flag),
    'true: the connection to Kafka is encrypted and trusts what Node trusts; false: neither encrypted nor taken from the environment',
  ),
  option(
    'source.tls.ca',
    file,
    'file with trusted certificate authorities, for Kafka, RabbitMQ and streams',
    {
      defaultText: 'the authorities Node trusts',
    },
  ),
  option('source.tls.cert', file, 'file with the client certificate, if the broker requires one'),
  option('source.tls.key', file, 'file with the key of the client certificate'),
  option('source.tls.passphrase', address, 'passphrase of that key'),
  option(
    'source.tls.servername',
    file,
    "the name in the broker's certificate, if it differs from the host of the address",
  ),
  option(
    'source.sasl.mechanism',
    unchecked(word(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'])),
    'SASL mechanism for Kafka',
  ),
  option('source.sasl.username', address, 'user name at Kafka'),
  option('source.sasl.password', address, 'password at Kafka'),
  option(
    'source.requestTimeoutMs',
    timeout,
    'longest wait for a response of Kafka, beyond the wait the request asks for',
    { defaultText: '10s' },
  ),
  option('source.connectTimeoutMs', timeout, 'longest wait for a connection to Kafka', {
    defaultText: '5s',
  }),
  option('source.sessionTimeoutMs', timeout, "silence after which Kafka reassigns the member's partitions", {
    defaultText: "10s; with the `consumer` protocol the broker's 45s",
  }),
  option(
    'source.rebalanceTimeoutMs',
    timeout,
    'longest time to finish messages in flight of a partition that moves',
    { defaultText: '60s' },
  ),
  option(
    'source.addedPartitionsWaitMs',
    milliseconds(0, 2 ** 31 - 1),
    'with order by key: longest time that partitions added to a Kafka topic wait for the earlier ones',
    { defaultText: '10m' },
  ),
]
