import { OncewardError } from '../../errors.ts'
import type { Connection } from './connection.ts'
import type { QueueDeclaration } from './declaration.ts'
import { askQueue, type QueueFacts } from './management.ts'
import { exists, limitOf, missing } from './topology.ts'

export interface IngestChecked {
  readonly warnings: readonly string[]
  readonly handOversMax: number
}

/**
 * Hand-overs after which a message in the dead-letter queue is left to people, where the broker counts them.
 */
const handOversMax = 10

/** Refuses a dead-letter queue from which messages cannot be taken back safely. */
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
          `The arguments of dead-letter queue ${from} could not be checked: ${asked.unknown}. If it has a delivery limit of its own (20 by default on quorum queues since RabbitMQ 4.0), messages can vanish from it.`,
        ]
  return { warnings, handOversMax: await limitHandOvers(connection, declaration, url) }
}

function checkFacts(connection: Connection, from: string, facts: QueueFacts): readonly string[] {
  const unusable = (why: string) =>
    new OncewardError(
      'topology_unsafe',
      `Dead-letter queue ${from} cannot be ingested: ${why} Nothing was consumed.`,
      { details: { queue: from } },
    )
  if (facts.type === 'stream') throw unusable('it is a stream, which cannot give messages up one by one.')
  if (facts.arguments['x-single-active-consumer'] === true)
    throw unusable('it has x-single-active-consumer, which allows no single gets.')
  const limit = facts.type === 'quorum' ? limitOf(connection, facts) : null
  if (limit === null) return []
  const aged = `it has delivery limit ${limit} itself, so a process that is killed in a loop ages messages out of it again. Set x-delivery-limit to -1, by policy or by recreating it.`
  // An argument cannot be lifted by a policy, only lowered.
  if (facts.hasDeadLetterExchange !== undefined || facts.arguments['x-delivery-limit'] === limit)
    throw unusable(aged)
  return [
    `The broker does not say yet which policies apply to dead-letter queue ${from}. Unless one lifts it: ${aged}`,
  ]
}

/**
 * A message brings the count of the queue it left along (4.0.5: limit + 1) and only afterwards counts from 1,
 * so the bound lies above that. Where the limit is unknown there is no bound: better handed over too often
 * than left by mistake.
 */
async function limitHandOvers(
  connection: Connection,
  { queue, managementUrl }: QueueDeclaration,
  url: string,
): Promise<number> {
  const asked = await askQueue(managementUrl, url, queue)
  if (!('known' in asked)) return Number.POSITIVE_INFINITY
  const { deliveryLimit, hasDeadLetterExchange } = asked.known
  if (deliveryLimit === undefined && hasDeadLetterExchange === undefined) return Number.POSITIVE_INFINITY
  return Math.max(handOversMax, (limitOf(connection, asked.known) ?? 0) + 2)
}
