import { bareCopy, withoutPrototypes } from '../../../message/bare-map.ts'
import type { Enrolment, HeldRecord, Outgoing } from '../../../ports/store.ts'
import { fitsOnWire } from '../../../ports/wire-size.ts'
import { rabbitDeath, springDeadLetter } from './dead-letter-headers.ts'

/**
 * The copy for the dead-letter queue of the broker, under the id of the message, so that a copy sent twice is
 * a duplicate. Parts that do not fit stay in the held row only: first the headers of the message, then its
 * body. Null if not even the rest fits.
 */
export function copyOfDeadLetter(
  enrolment: Enrolment,
  id: string | null,
  held: HeldRecord,
  heldId: string,
  nowMs: number,
): Outgoing | null {
  const to = enrolment.facts.deadLetterTo!
  const messageId = id ?? `held:${heldId}`
  const known = knownElsewhere(enrolment, held, nowMs)
  const ours = provenance(enrolment, held, heldId)
  // RabbitMQ has no message key, and a routing key as the key of the outbox would put all copies in one line.
  const key = to.broker === 'rabbitmq' ? null : held.brokerKey
  const copy = { ...to, exchange: null, messageId, key, properties: held.properties }
  const { topicLimits } = enrolment.facts
  for (const { headers, body } of formsOf(held, known, ours)) {
    const form = { ...copy, headers, body }
    if (fitsOnWire(to.broker, form, topicLimits)) return form
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

/** Headers of the copy: enough to find the row, and to see the cause without it. */
function provenance(
  { facts, campaignId }: Enrolment,
  held: HeldRecord,
  heldId: string,
): Record<string, string> {
  const campaign = held.was?.cameFrom ? held.was.cameFrom.campaignId : campaignId
  return {
    'onceward-consumer': `${facts.name}/${facts.generation}`,
    'onceward-held-id': String(heldId),
    'onceward-state': held.state,
    'onceward-class': held.failureClass,
    'onceward-code': held.code,
    'onceward-reason': held.reason.slice(0, 500),
    'onceward-origin': held.origin,
    ...(held.position === null ? {} : { 'onceward-position': held.position }),
    'onceward-attempts': String(held.attempts),
    ...(campaign && { 'onceward-campaign': campaign }),
  }
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
