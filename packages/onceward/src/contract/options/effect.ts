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

/** To what effect. */
export const effectOptions = [
  option('effect', section()),
  option('effect.apply', declared, null, { elsewhere: 'is made by a function and stays in TypeScript' }),
  option('effect.external', record('must be an object of targets by name', null)),
  option('effect.publish', record('must be an object of targets by name', isRecord)),
]

/** What each broker wants to be told is a rule: see `publish-problems.ts`. */
const place = unchecked(text())

/** Where messages go. */
export const publishOptions = [
  option('effect.publish.*', section("must be an object such as { broker: 'kafka', topic: '…' }")),
  option(
    'effect.publish.*.broker',
    word(['kafka', 'cdc', 'postgres', 'rabbitmq']),
    'where a publish target is',
    { missing: true },
  ),
  option('effect.publish.*.topic', place, 'of Kafka, or of the connector'),
  option('effect.publish.*.queue', place, 'of RabbitMQ or PostgreSQL'),
  option('effect.publish.*.exchange', place, 'of RabbitMQ, with a routing key'),
  option('effect.publish.*.routingKey', place, 'may be empty'),
  option('effect.publish.*.bytesMax', size(1_024, 2 ** 31 - 1), 'larger messages are refused', {
    default: kafkaBatchBytesMax,
    defaultText: "the Kafka topic's `max.message.bytes`, or 1048588 where the cluster does not say",
  }),
  option('effect.publish.*.evidence', flag, 'whether published messages stay known to `onceward explain`', {
    default: false,
  }),
  option(
    'effect.publish.*.destination',
    place,
    'which cluster and virtual host, as `onceward status` names it: `rabbitmq:eu-1/orders`',
    { defaultText: 'that of the address' },
  ),
]
