import type { From, IdentitySection } from '../contract/contract.ts'
import type { Consumer } from '../contract/define-consumer.ts'
import type { Envelope } from '../contract/handler.ts'
import { errorText } from '../errors.ts'
import type { Delivery } from '../ports/source.ts'
import { plainDigest } from './content-digest.ts'
import type { Keys } from './decoded-message.ts'
import { businessDigestOf } from './digest.ts'
import { idText, positionId, readerFor, readId, readsWithoutBody, storableText } from './identity.ts'
import { inexactOf } from './inexact-numbers.ts'
import { readIsoTime, timeMaxMs, timeMinMs } from './iso-time.ts'
import type { MessageFacts, Problem, ReadableMessage } from './received.ts'

export type IdentityReader<M> = (message: M, delivery: Delivery) => unknown
/** How a contract reads the identities of a message. */
export type Identities<M> = {
  [K in Exclude<keyof IdentitySection<M>, 'businessDigest' | 'idTime'>]-?: IdentityReader<M>
} & {
  businessDigest: ((message: M) => unknown) | null
}

const absent = () => undefined

/** Where an identity is read if the contract does not name a place. */
export const identityDefaults = {
  correlationId: { property: 'correlationId' },
  type: { property: 'type' },
  producer: { property: 'appId' },
} as const

export function compileIdentities<M>(given: IdentitySection<M>): Identities<M> {
  const identity: IdentitySection<M> = { ...identityDefaults, ...definedOnly(given) }
  const reader = (from: From<M, unknown> | undefined): IdentityReader<M> =>
    from === undefined ? absent : readerFor(from)
  return {
    id: idReader(identity.id),
    businessKey: reader(identity.businessKey),
    orderKey: reader(identity.orderKey),
    eventId: reader(identity.eventId),
    idempotencyKey: reader(identity.idempotencyKey),
    aggregateId: reader(identity.aggregateId),
    aggregateVersion: reader(identity.aggregateVersion),
    correlationId: reader(identity.correlationId),
    causationId: reader(identity.causationId),
    type: reader(identity.type),
    producer: reader(identity.producer),
    schemaVersion: reader(identity.schemaVersion),
    occurredAt: reader(identity.occurredAt),
    businessDigest: identity.businessDigest ?? null,
  }
}

/** A key given as undefined counts as not given. */
function definedOnly<M>(given: IdentitySection<M>): IdentitySection<M> {
  return Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined),
  ) as unknown as IdentitySection<M>
}

function idReader<M>(from: IdentitySection<M>['id']): IdentityReader<M> {
  if (from === 'position') return (_message, delivery) => positionId(delivery)
  if (from === 'content') return (_message, delivery) => contentId(plainDigest(delivery))
  return readerFor(from)
}

/** The id of a message that is identified by its content. */
export function contentId(digest: Buffer): string {
  return `content-${digest.toString('hex')}`
}

export function readKeys<M, Tx>(
  consumer: Consumer<M, Tx>,
  identities: Identities<M>,
  message: M,
  delivery: Delivery,
): Keys | Problem {
  let businessKey: string | null = null
  let orderKey: string | null = null
  if (consumer.identity.businessKey !== undefined) {
    const key = readId(attempt(identities.businessKey, message, delivery))
    if ('problem' in key)
      return { kind: `business key ${key.problem}`, text: key.text.replace('id', 'business key') }
    businessKey = key.id
  }
  if (consumer.order === 'key') {
    const key = readId(attempt(identities.orderKey, message, delivery))
    if ('problem' in key)
      return { kind: `order key ${key.problem}`, text: key.text.replace('id', 'order key') }
    orderKey = key.id
  }
  if (identities.businessDigest === null) return { businessKey, orderKey, businessDigest: null }
  try {
    return {
      businessKey,
      orderKey,
      businessDigest: businessDigestOf(identities.businessDigest(message), inexactOf(message)),
    }
  } catch (error) {
    return { kind: 'business key malformed', text: `businessDigest: ${errorText(error, 300)}` }
  }
}

export function envelopeOf<M>(identities: Identities<M>, read: ReadableMessage<M>): Envelope {
  const { id, businessKey, orderKey, message, delivery } = read
  return {
    id,
    businessKey,
    orderKey,
    eventId: fact(identities.eventId, message, delivery, idText),
    idempotencyKey: fact(identities.idempotencyKey, message, delivery, idText),
    aggregateId: fact(identities.aggregateId, message, delivery, idText),
    aggregateVersion: fact(identities.aggregateVersion, message, delivery),
    correlationId: fact(identities.correlationId, message, delivery),
    causationId: fact(identities.causationId, message, delivery, idText),
    type: fact(identities.type, message, delivery),
    producer: fact(identities.producer, message, delivery),
    schemaVersion: fact(identities.schemaVersion, message, delivery),
    occurredAtMs: timeFact(identities.occurredAt, message, delivery),
    headers: delivery.headers,
    properties: delivery.properties,
    origin: delivery.origin,
    key: delivery.key,
    position: delivery.position,
    redelivered: delivery.redelivered,
    replay: null,
  }
}

/** Of a message that cannot be used: `message` is undefined, or was decoded and not validated. */
export function readFacts<M>(identities: Identities<M>, message: M, delivery: Delivery): MessageFacts {
  return {
    type: fact(identities.type, message, delivery),
    schemaVersion: fact(identities.schemaVersion, message, delivery),
    producer: fact(identities.producer, message, delivery),
    correlationId: fact(identities.correlationId, message, delivery),
    causationId: fact(identities.causationId, message, delivery, idText),
    eventId: fact(identities.eventId, message, delivery, idText),
    aggregateId: fact(identities.aggregateId, message, delivery, idText),
    aggregateVersion: fact(identities.aggregateVersion, message, delivery),
    occurredAtMs: timeFact(identities.occurredAt, message, delivery),
  }
}

function timeFact<M>(reader: IdentityReader<M>, message: M, delivery: Delivery): number | null {
  if (reader === absent) return null
  const value = attempt(reader, message, delivery)
  if (typeof value !== 'string') return inRange(value)
  const read = readIsoTime(value)
  return typeof read === 'string' ? null : read.ms
}

function inRange(ms: unknown): number | null {
  return typeof ms === 'number' && ms >= timeMinMs && ms <= timeMaxMs ? Math.trunc(ms) : null
}

export function fact<M>(
  reader: IdentityReader<M>,
  message: M,
  delivery: Delivery,
  textOf: (value: unknown) => string | null = storableText,
): string | null {
  return reader === absent ? null : textOf(attempt(reader, message, delivery))
}

/** A contract's function may throw on hostile data: that counts as finding nothing. */
export function attempt<M>(reader: IdentityReader<M>, message: M, delivery: Delivery): unknown {
  try {
    return reader(message, delivery)
  } catch {
    return undefined
  }
}

export function idWithoutBody<M>(from: IdentitySection<M>['id'], delivery: Delivery): string | null {
  if (!readsWithoutBody(from)) return null
  const id = readId(attempt(idReader(from), undefined as M, delivery))
  return 'id' in id ? id.id : null
}
