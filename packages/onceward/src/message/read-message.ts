import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { From, IdentitySection } from '../contract/contract.ts'
import type { Consumer } from '../contract/define-consumer.ts'
import type { Envelope } from '../contract/handler.ts'
import type { Delivery, KnownIdentity } from '../contracts/source.ts'
import type { EarlierAttempts } from '../contracts/suspects.ts'
import { errorText } from '../errors.ts'
import { decompress } from './decompress.ts'
import { businessDigestOf, digestOf } from './digest.ts'
import { positionId, readerFor, readId, readsWithoutBody, storableText } from './identity.ts'
import { overLimit } from './limits.ts'
import { type Keys, type Later, ReadOut } from './read-out.ts'
import type { Problem, ProblemKind, ReadableMessage, Received, UnreadableMessage } from './received.ts'

/** Waits for `work`, which never rejects, as long as somebody allows; then takes what `late` makes of the reason. */
export type Patience = <T>(work: Promise<T>, late: (reason: string) => T) => Promise<T>

const endless: Patience = work => work

export type MessageReader<M> = (delivery: Delivery) => Received<M> | Promise<Received<M>>

/**
 * Compiles a contract's message and identity sections into one function: limits, decompression, decoding,
 * validation, identities, digest. It never throws: whatever is wrong becomes a `Problem`, because bytes
 * that cannot be read still need a row and an outcome. Synchronous unless the schema is not.
 */
export function createMessageReader<M, Tx>(
  consumer: Consumer<M, Tx>,
  patience: Patience = endless,
): MessageReader<M> {
  const { codec, limits, schema, digestHeaders } = consumer.message
  const identities = compileIdentities(consumer.identity)
  const unexpected = compileExpectation(consumer, identities)
  const laneOf = (delivery: Delivery) => (consumer.order === 'partition' ? delivery.partition : null)

  // Without markers nobody keeps the digest of what is applied, and it is two fifths of the reading.
  const digestsLate = consumer.dedup !== 'marker'

  const digestNow = ({ body, headers }: Delivery) => digestOf(body, headers, digestHeaders)
  const later: Later<M> = { envelope: read => envelopeOf(identities, read), digest: digestNow }

  const idOf = (message: M, delivery: Delivery) => {
    const known = knownOf(delivery)
    return known === undefined ? readId(attempt(identities.id, message, delivery)) : { id: known.messageId }
  }

  const read = (delivery: Delivery, early: Buffer | null, value: unknown): Received<M> => {
    const message = value as M
    const id = idOf(message, delivery)
    if ('problem' in id) {
      const digest = early ?? digestNow(delivery)
      return unreadable(delivery, digest, null, laneOf(delivery), `id ${id.problem}`, id.text)
    }
    const keyed = readKeys(consumer, identities, message, delivery)
    if ('kind' in keyed) {
      const digest = early ?? digestNow(delivery)
      return { readable: false, delivery, digest, id: id.id, lane: laneOf(delivery), problem: keyed }
    }
    return new ReadOut(delivery, message, id.id, keyed, keyed.orderKey ?? laneOf(delivery), early, later)
  }

  return delivery => {
    const { held } = delivery
    if (held?.read !== undefined)
      return new ReadOut(
        delivery,
        held.read.message as M,
        held.messageId!,
        held.read,
        held.read.lane,
        held.digest,
        later,
      )
    const over = overLimit(delivery, limits)
    // Headers over their limits are not worth a digest: whoever sends them decides how much work that is.
    const listed = over === null ? digestHeaders : []
    const digest =
      knownOf(delivery)?.digest ?? (digestsLate ? null : digestOf(delivery.body, delivery.headers, listed))
    const withoutMessage = (kind: ProblemKind, text: string) =>
      unreadable(
        delivery,
        digest ?? digestOf(delivery.body, delivery.headers, listed),
        knownOf(delivery)?.messageId ?? idWithoutBody(consumer.identity.id, delivery),
        laneOf(delivery),
        kind,
        text,
      )
    if (over !== null) return withoutMessage('over limit', over)
    let value: unknown
    try {
      const bytes = decompress(delivery.body, delivery.properties.contentEncoding, limits)
      value = codec.decode(bytes, limits, delivery)
    } catch (error) {
      return withoutMessage('undecodable', errorText(error, 500))
    }
    const withoutSchema = (kind: ProblemKind, text: string): Received<M> => {
      const id = idOf(value as M, delivery)
      const known = 'id' in id ? id.id : null
      return unreadable(delivery, digest ?? digestNow(delivery), known, laneOf(delivery), kind, text)
    }
    // Before the schema, which may be that of another type or version.
    const stranger = unexpected?.(value as M, delivery) ?? null
    if (stranger !== null) return withoutSchema(stranger.kind, stranger.text)
    if (schema === undefined) return read(delivery, digest, value)

    const invalid = (text: string) => withoutSchema('invalid', text)
    const conclude = (result: StandardSchemaV1.Result<M>) =>
      result.issues === undefined ? read(delivery, digest, result.value) : invalid(issuesText(result.issues))
    try {
      const result = schema['~standard'].validate(value)
      if (!(result instanceof Promise)) return conclude(result)
      const read = result.then(conclude).catch(error => invalid(errorText(error, 500)))
      return patience(read, reason => withoutSchema('unvalidated', reason))
    } catch (error) {
      return invalid(errorText(error, 500))
    }
  }
}

/** Names what is read before anything of it is known. No id begins with a space. */
export function bytesKey<M, Tx>(consumer: Consumer<M, Tx>, delivery: Delivery): string {
  return ` bytes ${rawDigest(consumer, delivery).toString('hex')}`
}

/** What was held goes on under the identity its marker has, whatever the contract says by now and whoever mended its bytes. Without one it is read anew. */
function knownOf({ held, archived }: Delivery): KnownIdentity | undefined {
  if (held === undefined) return archived
  return held.messageId === null ? undefined : (held as KnownIdentity)
}

/** A message that nobody reads any more. */
export function unreadKiller<M, Tx>(
  consumer: Consumer<M, Tx>,
  delivery: Delivery,
  earlier: EarlierAttempts,
): UnreadableMessage {
  return {
    readable: false,
    delivery,
    digest: rawDigest(consumer, delivery),
    id: knownOf(delivery)?.messageId ?? idWithoutBody(consumer.identity.id, delivery),
    lane: consumer.order === 'partition' ? delivery.partition : null,
    problem: { kind: 'process died', text: 'whoever read it died', earlier },
  }
}

function rawDigest<M, Tx>({ message }: Consumer<M, Tx>, delivery: Delivery): Buffer {
  const listed = overLimit(delivery, message.limits) === null ? message.digestHeaders : []
  return knownOf(delivery)?.digest ?? digestOf(delivery.body, delivery.headers, listed)
}

/** What the contract says it can read; null where it says nothing. */
function compileExpectation<M, Tx>(
  { message: { types, versions } }: Consumer<M, Tx>,
  { type, schemaVersion }: Identities<M>,
): ((message: M, delivery: Delivery) => Problem | null) | null {
  if (types === undefined && versions === undefined) return null
  const known = types && new Set(types)
  const readable = versions && versionTest(versions)
  return (message, delivery) => {
    const itsType = fact(type, message, delivery)
    if (known !== undefined && !known.has(itsType ?? ''))
      return { kind: 'unknown type', text: `type ${itsType ?? 'missing'}: this consumer knows ${types}` }
    if (readable === undefined) return null
    const version = fact(schemaVersion, message, delivery)
    if (version !== null && readable(version)) return null
    return { kind: 'unsupported version', text: `schema version ${version ?? 'missing'} cannot be read here` }
  }
}

function versionTest(versions: NonNullable<Consumer['message']['versions']>): (version: string) => boolean {
  if ('min' in versions)
    return version =>
      /^\d{1,10}$/.test(version) && Number(version) >= versions.min && Number(version) <= versions.max
  const listed = new Set(versions.map(String))
  return version => listed.has(version)
}

type Reader<M> = (message: M, delivery: Delivery) => unknown
type Identities<M> = {
  [K in Exclude<keyof IdentitySection<M>, 'businessDigest' | 'idTime'>]-?: Reader<M>
} & {
  businessDigest: ((message: M) => unknown) | null
}

const absent = () => undefined

function compileIdentities<M>(identity: IdentitySection<M>): Identities<M> {
  const reader = (from: From<M, unknown> | undefined): Reader<M> =>
    from === undefined ? absent : readerFor(from)
  return {
    id: idReader(identity.id),
    businessKey: reader(identity.businessKey),
    orderKey: reader(identity.orderKey),
    eventId: reader(identity.eventId),
    idempotencyKey: reader(identity.idempotencyKey),
    aggregateId: reader(identity.aggregateId),
    aggregateVersion: reader(identity.aggregateVersion),
    correlationId: reader(identity.correlationId ?? { property: 'correlationId' }),
    causationId: reader(identity.causationId),
    type: reader(identity.type ?? { property: 'type' }),
    producer: reader(identity.producer ?? { property: 'appId' }),
    schemaVersion: reader(identity.schemaVersion),
    businessDigest: identity.businessDigest ?? null,
  }
}

function idReader<M>(from: IdentitySection<M>['id']): Reader<M> {
  return from === 'position' ? (_message, delivery) => positionId(delivery) : readerFor(from)
}

function readKeys<M, Tx>(
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
    return { businessKey, orderKey, businessDigest: businessDigestOf(identities.businessDigest(message)) }
  } catch (error) {
    return { kind: 'business key malformed', text: `businessDigest: ${errorText(error, 300)}` }
  }
}

function envelopeOf<M>(identities: Identities<M>, read: ReadableMessage<M>): Envelope {
  const { id, businessKey, orderKey, message, delivery } = read
  return {
    id,
    businessKey,
    orderKey,
    eventId: fact(identities.eventId, message, delivery),
    idempotencyKey: fact(identities.idempotencyKey, message, delivery),
    aggregateId: fact(identities.aggregateId, message, delivery),
    aggregateVersion: fact(identities.aggregateVersion, message, delivery),
    correlationId: fact(identities.correlationId, message, delivery),
    causationId: fact(identities.causationId, message, delivery),
    type: fact(identities.type, message, delivery),
    producer: fact(identities.producer, message, delivery),
    schemaVersion: fact(identities.schemaVersion, message, delivery),
    headers: delivery.headers,
    properties: delivery.properties,
    origin: delivery.origin,
    position: delivery.position,
    redelivered: delivery.redelivered,
  }
}

function fact<M>(reader: Reader<M>, message: M, delivery: Delivery): string | null {
  return reader === absent ? null : storableText(attempt(reader, message, delivery))
}

/** A contract's function may throw on hostile data: that is the same as finding nothing. */
function attempt<M>(reader: Reader<M>, message: M, delivery: Delivery): unknown {
  try {
    return reader(message, delivery)
  } catch {
    return undefined
  }
}

function idWithoutBody<M>(from: IdentitySection<M>['id'], delivery: Delivery): string | null {
  if (!readsWithoutBody(from)) return null
  const id = readId(attempt(idReader(from), undefined as M, delivery))
  return 'id' in id ? id.id : null
}

function unreadable(
  delivery: Delivery,
  digest: Buffer,
  id: string | null,
  lane: string | null,
  kind: ProblemKind,
  text: string,
): Received<never> {
  return {
    readable: false,
    delivery,
    digest,
    id,
    lane,
    problem: { kind, text: storableText(text, 500) ?? '' },
  }
}

function issuesText(issues: readonly StandardSchemaV1.Issue[]): string {
  return issues
    .slice(0, 10)
    .map(issue => {
      const path = (issue.path ?? [])
        .map(part => String(typeof part === 'object' ? part.key : part))
        .join('.')
      return path === '' ? issue.message : `${path}: ${issue.message}`
    })
    .join('; ')
}
