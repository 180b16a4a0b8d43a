import type { Transform } from '../contract/define-transform.ts'
import { copyOfDeadLetter } from '../drivers/postgres/sql/dead-letter-copy.ts'
import { heldIdentities } from '../engine/batch/held-identities.ts'
import type { Decision } from '../engine/batch/outcome.ts'
import type { Received } from '../message/received.ts'
import { fromStoredJson, toStoredJson } from '../message/stored-json.ts'
import type { Enrolment } from '../ports/enrolment.ts'
import type { HeldRecord } from '../ports/held-record.ts'
import type { OutgoingMessage } from '../ports/publisher.ts'
import type { TopicLimits } from '../ports/topic-limits.ts'

/** The message for the dead-letter topic of a transform. */
export type DeadLetter = Pick<OutgoingMessage, 'queue' | 'messageId' | 'key' | 'body'> & {
  readonly headers: Readonly<Record<string, unknown>>
  readonly properties: Received['delivery']['properties']
}

/** Parts that do not fit into the topic stay in the source only. */
const leftOut = 'too large to copy; the record is at onceward-position'

/**
 * The dead letter of a record, with the headers that dead letters of consumers have. A transform keeps no
 * row, so the header with the row's id is missing. Null when not even the other headers fit.
 */
export function transformDeadLetter(
  { name, generation, failure }: Pick<Transform, 'name' | 'generation' | 'failure'>,
  received: Received,
  decision: Decision,
  topicLimits: TopicLimits,
  { firstMs, lastMs }: { readonly firstMs: number; readonly lastMs: number },
): DeadLetter | null {
  const deadLetterTo = { broker: 'kafka', queue: failure.deadLetter!, owner: failure.deadLetterOwner }
  const enrolment = { facts: { name, generation, deadLetterTo, topicLimits } } as Enrolment
  const { delivery } = received
  const messageId = received.id ?? delivery.position!
  const held = heldOf(received, decision)
  const copy = copyOfDeadLetter(enrolment, messageId, held, { heldId: '', firstMs, lastMs })
  if (copy === null) return null
  const { 'onceward-held-id': _row, ...headers } = fromStoredJson(copy.headers)
  headers['onceward-replay'] = `send it to ${delivery.origin} again`
  for (const part of ['onceward-headers', 'onceward-body'])
    if (headers[part] !== undefined) headers[part] = leftOut
  const { properties, key } = delivery
  return { queue: copy.queue, messageId, key, body: copy.body, headers, properties }
}

function heldOf(received: Received, decision: Decision): HeldRecord {
  const { delivery } = received
  const { status, reason, failureClass, code, error, exception = null, place, attempts } = decision
  return {
    state: status === 'quarantined' ? 'quarantined' : 'dead',
    was: null,
    reason,
    failureClass,
    code,
    error,
    exception,
    place,
    orderKey: null,
    version: null,
    dueInMs: null,
    attempts: Math.max(1, attempts),
    body: delivery.body,
    headers: toStoredJson(delivery.headers),
    properties: toStoredJson(delivery.properties),
    origin: delivery.origin,
    position: delivery.position,
    brokerKey: delivery.key,
    deliveryCount: delivery.deliveryCount,
    businessKey: null,
    keyless: false,
    ...heldIdentities(received),
  } as HeldRecord
}
