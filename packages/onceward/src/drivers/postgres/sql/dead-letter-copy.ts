import { bareCopy, withoutPrototypes } from '../../../message/bare-map.ts'
import type { Enrolment } from '../../../ports/enrolment.ts'
import type { HeldRecord } from '../../../ports/held-record.ts'
import type { Outgoing } from '../../../ports/outgoing.ts'
import { fitsOnWire } from '../../../ports/wire-size.ts'
import { rabbitDeath, springDeadLetter } from './dead-letter-headers.ts'

/** The held row of a message, and when it failed for the first and the last time. */
export interface CopiedRow {
  readonly heldId: string
  readonly firstMs: number
  readonly lastMs: number
}

/**
 * The copy for the dead-letter queue of the broker, under the id of the message, so that a copy sent twice is
 * a duplicate. Parts that do not fit stay in the held row only: first the headers of the message, then its
 * body. Null if not even the rest fits.
 */
export function copyOfDeadLetter(
  enrolment: Enrolment,
  id: string | null,
  held: HeldRecord,
  row: CopiedRow,
): Outgoing | null {
  const { broker, queue } = enrolment.facts.deadLetterTo!
  const messageId = id ?? `held:${row.heldId}`
  const known = knownElsewhere(enrolment, held, row.lastMs)
  const ours = provenance(enrolment, held, row)
  // RabbitMQ has no message key, and a routing key as the key of the outbox would put all copies in one line.
  const key = broker === 'rabbitmq' ? null : held.brokerKey
  const copy = { broker, queue, exchange: null, messageId, key, properties: held.properties }
  const { topicLimits } = enrolment.facts
  for (const { headers, body } of formsOf(held, known, ours)) {
    const form = { ...copy, headers, body }
    if (fitsOnWire(broker, form, topicLimits)) return form
  }
  return null
}

/** Lazy: the first form almost always fits. */
function* formsOf(
  { headers, body }: HeldRecord,
  known: (original: Headers) => Headers,
  ours: Headers,
): Generator<Pick<Outgoing, 'headers' | 'body'>> {
  const withoutBody = { ...ours, 'onceward-body': leftOut }
  const none = Buffer.alloc(0)
  yield { headers: withOriginals(headers, known, ours), body }
  yield { headers: withoutOriginals(known, ours), body }
  yield { headers: withOriginals(headers, known, withoutBody), body: none }
  yield { headers: withoutOriginals(known, withoutBody), body: none }
}

/** Headers of the copy: enough to see the cause, to find the responsible team, and to process it again. */
function provenance(
  { facts, campaignId }: Enrolment,
  held: HeldRecord,
  { heldId, firstMs, lastMs }: CopiedRow,
): Record<string, string> {
  const campaign = held.was?.cameFrom ? held.was.cameFrom.campaignId : campaignId
  return {
    'onceward-consumer': `${facts.name}/${facts.generation}`,
    'onceward-owner': facts.deadLetterTo!.owner,
    'onceward-held-id': String(heldId),
    'onceward-state': held.state,
    'onceward-class': held.failureClass,
    'onceward-code': held.code,
    ...(held.exception ? { 'onceward-exception': held.exception } : {}),
    'onceward-reason': held.reason.slice(0, 500),
    'onceward-origin': held.origin,
    ...(held.position === null ? {} : { 'onceward-position': held.position }),
    ...(held.brokerKey === null ? {} : { 'onceward-key': held.brokerKey }),
    'onceward-attempts': String(held.attempts),
    'onceward-first-failure': new Date(firstMs).toISOString(),
    'onceward-last-failure': new Date(lastMs).toISOString(),
    ...(held.schemaVersion === null ? {} : { 'onceward-schema-version': held.schemaVersion }),
    ...(held.correlationId === null ? {} : { 'onceward-correlation-id': held.correlationId }),
    'onceward-replay': replayHint(facts.name, heldId),
    ...(campaign && { 'onceward-campaign': campaign }),
  }
}

/** Not by sending the copy back: its id is known, so it would be a duplicate of the held row. */
function replayHint(consumer: string, heldId: string): string {
  return `onceward parked redrive ${heldId} --consumer ${consumer} --because REASON`
}

type Headers = Readonly<Record<string, unknown>>

const leftOut = 'too large to copy, kept in the held row'

function withOriginals(original: string, known: (original: Headers) => Headers, ours: Headers): string {
  const kept = withoutPrototypes(JSON.parse(original)) as Headers
  return JSON.stringify(bareCopy(kept, known(kept), ours))
}

function withoutOriginals(known: (original: Headers) => Headers, ours: Headers): string {
  return JSON.stringify({ ...known({}), ...ours, 'onceward-headers': leftOut })
}

/** Headers that tools of the broker show for a dead letter. */
function knownElsewhere(
  { facts }: Enrolment,
  held: HeldRecord,
  nowMs: number,
): (original: Headers) => Headers {
  switch (facts.deadLetterTo!.broker) {
    case 'rabbitmq':
      return original => rabbitDeath(original, held, nowMs)
    case 'kafka':
      return original => springDeadLetter(original, held)
    default:
      return () => ({})
  }
}
