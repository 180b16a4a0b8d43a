import { OncewardError } from '../../errors.ts'
import type { Connection } from './connection.ts'
import type { QueueDeclaration } from './declaration.ts'
import { askQueue, type QueueFacts } from './management.ts'
import { exists, limitOf, missing } from './topology.ts'

export interface IngestChecked {
  readonly warnings: readonly string[]
  readonly deliveriesMax: number
}

/**
 * Deliveries after which a message stays in the dead-letter queue for an operator, if the broker counts them.
 */
const deliveriesMax = 10

/** Rejects a dead-letter queue that cannot be ingested safely. */
export async function checkIngest(
  connection: Connection,
  declaration: QueueDeclaration,
  url: string,
): Promise<IngestChecked> {
  const { queue, deadLetterIngest: from, managementUrl } = declaration
  if (!(await exists(connection, from!)))
    throw missing(
      `Queue ${from}, named as deadLetterIngest of ${queue}, does not exist.`,
      'Create it and bind it to the dead-letter exchange of the queue, or correct the name.',
    )
  const asked = await askQueue(managementUrl, url, from!)
  const warnings =
    'known' in asked
      ? checkFacts(connection, from!, asked.known)
      : [
          `The arguments of dead-letter queue ${from} could not be checked: ${asked.unknown}. If it has a delivery limit itself (20 by default on quorum queues since RabbitMQ 4.0), messages can be lost from it.`,
        ]
  return { warnings, deliveriesMax: await limitDeliveries(connection, declaration, url) }
}

function checkFacts(connection: Connection, from: string, facts: QueueFacts): readonly string[] {
  const unusable = (why: string) =>
    new OncewardError(
      'topology_unsafe',
      `Dead-letter queue ${from} cannot be ingested: ${why} Nothing was consumed.`,
      { details: { queue: from } },
    )
  if (facts.type === 'stream') throw unusable('it is a stream, which cannot release single messages.')
  if (facts.arguments['x-single-active-consumer'] === true)
    throw unusable('it has x-single-active-consumer, which allows no basic.get.')
  const limit = facts.type === 'quorum' ? limitOf(connection, facts) : null
  if (limit === null) return []
  const aged = `it has delivery limit ${limit} itself, so repeated crashes of a process would expire messages from it again. Set x-delivery-limit to -1, by policy or by recreating it.`
  // A policy can only lower an argument.
  if (facts.hasDeadLetterExchange !== undefined || facts.arguments['x-delivery-limit'] === limit)
    throw unusable(aged)
  return [
    `The broker does not report yet which policies apply to dead-letter queue ${from}. Unless one removes the limit: ${aged}`,
  ]
}

/**
 * A message keeps the count of the queue it left (4.0.5: limit + 1) and counts from 1 only afterwards, so the
 * bound is above that. When the limit is unknown there is no bound: an extra delivery is better than a
 * message left by mistake.
 */
async function limitDeliveries(
  connection: Connection,
  { queue, managementUrl }: QueueDeclaration,
  url: string,
): Promise<number> {
  const asked = await askQueue(managementUrl, url, queue)
  if (!('known' in asked)) return Number.POSITIVE_INFINITY
  const { deliveryLimit, hasDeadLetterExchange } = asked.known
  if (deliveryLimit === undefined && hasDeadLetterExchange === undefined) return Number.POSITIVE_INFINITY
  return Math.max(deliveriesMax, (limitOf(connection, asked.known) ?? 0) + 2)
}
