import { isRecord, type Report } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'

/** What each broker wants to be told; RabbitMQ takes a queue, or an exchange with a routing key. */
const fieldsOf: Record<string, readonly (readonly string[])[]> = {
  kafka: [['topic']],
  cdc: [['topic']],
  postgres: [['queue']],
  rabbitmq: [['queue'], ['exchange', 'routingKey']],
}

const places = new Set(Object.values(fieldsOf).flat(2))

/** Only brokers outside the database have several. */
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

/** What a broker needs to be told of a target, and what does not go with it. */
export function publishTargetProblems(place: string, target: unknown, wrong: Report): void {
  if (!isRecord(target)) return
  const { broker, destination, bytesMax } = target
  if (destination !== undefined && !isDestination(destination, broker))
    wrong(
      `${place}.destination`,
      `must name a ${String(broker)} destination, such as '${String(broker)}:eu-1/orders'`,
    )
  if (bytesMax !== undefined && typeof broker === 'string' && broker !== 'kafka')
    wrong(`${place}.bytesMax`, `does not go with broker '${broker}'; take it out`)
  const forms = typeof broker === 'string' && Object.hasOwn(fieldsOf, broker) ? fieldsOf[broker]! : null
  if (forms === null) return
  const given = [...places].filter(field => target[field] !== undefined)
  const form = forms.find(fields => given.includes(fields[0]!)) ?? forms[0]!
  for (const field of form) {
    const value = target[field]
    // The empty routing key is what fanout exchanges are given.
    if (typeof value !== 'string' || (value === '' && field !== 'routingKey') || value.includes('\0'))
      wrong(`${place}.${field}`, `must be a text: what broker '${broker}' is to publish to`)
    else if (broker === 'rabbitmq' && Buffer.byteLength(value) > 255)
      wrong(`${place}.${field}`, 'must have 255 bytes at most: AMQP carries no longer names')
  }
  for (const field of given.filter(field => !form.includes(field)))
    wrong(`${place}.${field}`, `does not go with broker '${broker}' and ${form.join(', ')}; take it out`)
}
