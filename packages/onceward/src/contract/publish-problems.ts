import { isRecord, type Report } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'

/** The fields each broker needs. RabbitMQ takes a queue, or an exchange with a routing key. */
const fieldsOf: Record<string, readonly (readonly string[])[]> = {
  kafka: [['topic']],
  cdc: [['topic']],
  postgres: [['queue']],
  rabbitmq: [['queue'], ['exchange', 'routingKey']],
}

const places = new Set(Object.values(fieldsOf).flat(2))

/** Only brokers outside the database have several destinations. */
function isDestination(destination: unknown, broker: unknown): boolean {
  if (broker !== 'rabbitmq' && broker !== 'kafka') return false
  if (typeof destination !== 'string' || destination.includes('\0')) return false
  return destination.startsWith(`${broker}:`) && destination.length > broker.length + 1
}

export function publishProblems({ effect }: ConsumerContract, wrong: Report): void {
  const targets: unknown = isRecord(effect) ? effect.publish : undefined
  if (!isRecord(targets)) return
  for (const [name, target] of Object.entries(targets))
    publishTargetProblems(`effect.publish.${name}`, target, wrong)
}

/** Missing fields of a publish target, and fields that do not fit its broker. */
export function publishTargetProblems(place: string, target: unknown, wrong: Report): void {
  if (!isRecord(target)) return
  const { broker, destination, bytesMax } = target
  if (destination !== undefined && !isDestination(destination, broker))
    wrong(
      `${place}.destination`,
      `must name a ${String(broker)} destination, such as '${String(broker)}:eu-1/orders'`,
    )
  if (bytesMax !== undefined && typeof broker === 'string' && broker !== 'kafka')
    wrong(`${place}.bytesMax`, `does not apply to broker '${broker}'; remove it`)
  const forms = typeof broker === 'string' && Object.hasOwn(fieldsOf, broker) ? fieldsOf[broker]! : null
  if (forms === null) return
  const given = [...places].filter(field => target[field] !== undefined)
  const form = forms.find(fields => given.includes(fields[0]!)) ?? forms[0]!
  for (const field of form) {
    const value = target[field]
    // Fanout exchanges use an empty routing key.
    if (typeof value !== 'string' || (value === '' && field !== 'routingKey') || value.includes('\0'))
      wrong(`${place}.${field}`, `must be a string: the name broker '${broker}' publishes to`)
    else if (broker === 'rabbitmq' && Buffer.byteLength(value) > 255)
      wrong(`${place}.${field}`, 'must have at most 255 bytes: AMQP has no longer names')
  }
  for (const field of given.filter(field => !form.includes(field)))
    wrong(`${place}.${field}`, `does not apply to broker '${broker}' with ${form.join(', ')}; remove it`)
}
