import { isRecord, oneOf, type Report, unknownKeys, wholeNumber } from './check-values.ts'

/** What each broker wants to be told; RabbitMQ takes a queue, or an exchange with a routing key. */
const fieldsOf: Record<string, readonly (readonly string[])[]> = {
  kafka: [['topic']],
  cdc: [['topic']],
  postgres: [['queue']],
  rabbitmq: [['queue'], ['exchange', 'routingKey']],
}

/** Only brokers outside the database have several. */
function isDestination(destination: unknown, broker: unknown): boolean {
  if (broker !== 'rabbitmq' && broker !== 'kafka') return false
  if (typeof destination !== 'string' || destination.includes('\0')) return false
  return destination.startsWith(`${broker}:`) && destination.length > broker.length + 1
}

export function publishProblems(targets: unknown, wrong: Report): void {
  if (targets === undefined) return
  if (!isRecord(targets)) return wrong('effect.publish', 'must be an object of targets by name')
  for (const [name, target] of Object.entries(targets))
    targetProblems(`effect.publish.${name}`, target, wrong)
}

function targetProblems(place: string, target: unknown, wrong: Report): void {
  if (!isRecord(target)) return wrong(place, "must be an object such as { broker: 'kafka', topic: '…' }")
  unknownKeys(target, 'publish', `${place}.`, wrong)
  const { broker, evidence, destination, bytesMax, ...rest } = target
  if (evidence !== undefined && typeof evidence !== 'boolean')
    wrong(`${place}.evidence`, 'must be true or false')
  if (destination !== undefined && !isDestination(destination, broker))
    wrong(
      `${place}.destination`,
      `must name a ${String(broker)} destination, such as '${String(broker)}:eu-1/orders'`,
    )
  wholeNumber(bytesMax, `${place}.bytesMax`, 1_024, 2 ** 31 - 1, wrong)
  if (bytesMax !== undefined && typeof broker === 'string' && broker !== 'kafka')
    wrong(`${place}.bytesMax`, `does not go with broker '${broker}'; take it out`)
  const forms = typeof broker === 'string' && Object.hasOwn(fieldsOf, broker) ? fieldsOf[broker]! : null
  if (forms === null) return oneOf(broker, Object.keys(fieldsOf), `${place}.broker`, wrong)
  const given = Object.keys(rest).filter(field => rest[field] !== undefined)
  const form = forms.find(fields => given.includes(fields[0]!)) ?? forms[0]!
  for (const field of form) {
    const value = rest[field]
    // The empty routing key is what fanout exchanges are given.
    if (typeof value !== 'string' || (value === '' && field !== 'routingKey') || value.includes('\0'))
      wrong(`${place}.${field}`, `must be a text: what broker '${broker}' is to publish to`)
    else if (broker === 'rabbitmq' && Buffer.byteLength(value) > 255)
      wrong(`${place}.${field}`, 'must have 255 bytes at most: AMQP carries no longer names')
  }
  for (const field of given.filter(field => !form.includes(field)))
    wrong(`${place}.${field}`, `does not go with broker '${broker}' and ${form.join(', ')}; take it out`)
}
