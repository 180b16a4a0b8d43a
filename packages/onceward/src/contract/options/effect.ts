import { kafkaBatchBytesMax } from '../../ports/wire-size.ts'
import { isRecord } from '../check-values.ts'
import { size } from './amount-kinds.ts'
import { codeOnly } from './code-kinds.ts'
import { record, section, unchecked } from './kind.ts'
import { option } from './option.ts'
import { flag, text, word } from './text-kinds.ts'

const declared = codeOnly(
  'must be made by an effect, such as projection({ … })',
  value => isRecord(value) && typeof value.apply === 'function' && typeof value.problems === 'function',
)

/** Declared effects and targets. */
export const effectOptions = [
  option('effect', section()),
  option('effect.apply', declared, null, { elsewhere: 'is made by a function and stays in TypeScript' }),
  option('effect.external', record('must be an object of targets by name', null)),
  option('effect.publish', record('must be an object of targets by name', isRecord)),
]

/** `publish-problems.ts` checks which of these each broker needs. */
const place = unchecked(text())

/** Targets of published messages. */
export const publishOptions = [
  option('effect.publish.*', section("must be an object such as { broker: 'kafka', topic: '…' }")),
  option('effect.publish.*.broker', word(['kafka', 'cdc', 'postgres', 'rabbitmq']), 'the kind of broker', {
    missing: true,
  }),
  option('effect.publish.*.topic', place, 'the topic, for Kafka and CDC connectors'),
  option('effect.publish.*.queue', place, 'the queue, for RabbitMQ and PostgreSQL'),
  option('effect.publish.*.exchange', place, 'the RabbitMQ exchange; needs a routing key'),
  option('effect.publish.*.routingKey', place, 'the routing key; may be empty'),
  option(
    'effect.publish.*.bytesMax',
    size(1_024, 2 ** 31 - 1),
    'the largest message; larger ones are refused',
    {
      default: kafkaBatchBytesMax,
      defaultText: "the Kafka topic's `max.message.bytes`, or 1048588 if the cluster cannot be asked",
    },
  ),
  option('effect.publish.*.evidence', flag, 'keeps a record of published messages for `onceward explain`', {
    default: false,
  }),
  option(
    'effect.publish.*.destination',
    place,
    'the cluster and virtual host, as `onceward status` names it: `rabbitmq:eu-1/orders`',
    { defaultText: 'the broker whose address the process has' },
  ),
  option(
    'effect.publish.*.encoder',
    codeOnly(
      'must be an encoder, such as avroEncoder({ … })',
      value => isRecord(value) && typeof value.encode === 'function' && typeof value.name === 'string',
    ),
    null,
    { elsewhere: 'stays in TypeScript' },
  ),
]
