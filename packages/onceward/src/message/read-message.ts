import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Consumer } from '../contract/define-consumer.ts'
import { errorText } from '../errors.ts'
import type { Delivery } from '../ports/source.ts'
import { contentDigest, isTombstone, plainDigest } from './content-digest.ts'
import { DecodedMessage, type Later } from './decoded-message.ts'
import { decompress } from './decompress.ts'
import { readId } from './identity.ts'
import { carryInexact, InexactNumber } from './inexact-numbers.ts'
import { overLimit } from './limits.ts'
import {
  attempt,
  compileIdentities,
  contentId,
  envelopeOf,
  fact,
  type Identities,
  idWithoutBody,
  readFacts,
  readKeys,
} from './read-identities.ts'
import type { Problem, ProblemKind, Received } from './received.ts'
import { unreadableReason } from './unreadable-encoding.ts'
import { knownOf, orElse, unreadable, unreadableBy } from './unreadable-message.ts'

/**
 * Waits for `work`, which never rejects, up to a time limit; then returns the result of `late` with the
 * reason.
 */
export type TimeLimit = <T>(work: Promise<T>, late: (reason: string) => T) => Promise<T>

const unlimited: TimeLimit = work => work

export type MessageReader<M> = (delivery: Delivery) => Received<M> | Promise<Received<M>>

/**
 * Compiles a contract's message and identity sections into one function: limits, decompression, decoding,
 * validation, identities, digest. The function never throws. Every error becomes a `Problem`, because
 * unreadable bytes still need a row and an outcome. It is synchronous unless the schema is not.
 */
export function createMessageReader<M, Tx>(
  consumer: Consumer<M, Tx>,
  limitTime: TimeLimit = unlimited,
): MessageReader<M> {
  const broken = (delivery: Delivery, error: unknown) => unreadableBy(consumer, delivery, error)
  const read = compileReader(consumer, (delivery, work, late) =>
    limitTime(
      work.catch(error => broken(delivery, error)),
      reason =>
        orElse(
          () => late(reason),
          error => broken(delivery, error),
        ),
    ),
  )
  return delivery =>
    orElse(
      () => read(delivery),
      error => broken(delivery, error),
    )
}

type TimeLimitFor<M> = (
  delivery: Delivery,
  work: Promise<Received<M>>,
  late: (reason: string) => Received<M>,
) => Promise<Received<M>>

function compileReader<M, Tx>(consumer: Consumer<M, Tx>, limitTime: TimeLimitFor<M>): MessageReader<M> {
  const { codec, limits, schema, digestHeaders, tombstones } = consumer.message
  const identities = compileIdentities(consumer.identity)
  const unexpected = compileExpectation(consumer, identities)
  const laneOf = (delivery: Delivery) => (consumer.order === 'partition' ? delivery.partition : null)

  // Without markers the digest of an applied message is not stored, and it is two fifths of the reading time.
  const byContent = consumer.identity.id === 'content'
  const digestsLate = consumer.dedup !== 'marker'

  const digestNow = (delivery: Delivery) => contentDigest(delivery, digestHeaders)
  const digestLater = (delivery: Delivery) =>
    orElse(
      () => digestNow(delivery),
      () => plainDigest(delivery),
    )
  const later: Later<M> = { envelope: read => envelopeOf(identities, read), digest: digestLater }

  const factsIn = (message: unknown, delivery: Delivery) => () =>
    readFacts(identities, message as M, delivery)

  const idOf = (message: M, delivery: Delivery) => {
    const known = knownOf(delivery)
    if (known !== undefined) return { id: known.messageId }
    if (byContent) return { id: contentId(digestLater(delivery)) }
    return readId(attempt(identities.id, message, delivery))
  }

  const read = (delivery: Delivery, early: Buffer | null, value: unknown): Received<M> => {
    const message = value as M
    const id = idOf(message, delivery)
    if ('problem' in id) {
      const digest = early ?? digestNow(delivery)
      const text = id.text + bodyless(delivery)
      const facts = factsIn(message, delivery)
      return unreadable(delivery, digest, null, laneOf(delivery), `id ${id.problem}`, text, facts)
    }
    const keyed = readKeys(consumer, identities, message, delivery)
    if ('kind' in keyed) {
      const digest = early ?? digestNow(delivery)
      const text = keyed.text + bodyless(delivery)
      const facts = factsIn(message, delivery)
      return unreadable(delivery, digest, id.id, laneOf(delivery), keyed.kind, text, facts)
    }
    return new DecodedMessage(
      delivery,
      message,
      id.id,
      keyed,
      keyed.orderKey ?? laneOf(delivery),
      early,
      later,
    )
  }

  return delivery => {
    const { held } = delivery
    if (held?.read !== undefined)
      return new DecodedMessage(
        delivery,
        held.read.message as M,
        held.messageId!,
        held.read,
        held.read.lane,
        held.digest,
        later,
      )
    const over = overLimit(delivery, limits)
    // Headers over their limits get no digest, because the sender decides how much work that is.
    const listed = over === null ? digestHeaders : []
    const digest = knownOf(delivery)?.digest ?? (digestsLate ? null : contentDigest(delivery, listed))
    const withoutMessage = (kind: ProblemKind, text: string) =>
      unreadable(
        delivery,
        digest ?? contentDigest(delivery, listed),
        knownOf(delivery)?.messageId ?? idWithoutBody(consumer.identity.id, delivery),
        laneOf(delivery),
        kind,
        text,
        over === null ? factsIn(undefined, delivery) : undefined,
      )
    const broken = unreadableReason(delivery.properties.contentEncoding)
    if (broken !== null) return withoutMessage('undecodable', broken)
    if (over !== null) return withoutMessage('over limit', over)
    if (isTombstone(delivery))
      return tombstones === 'handle' ? read(delivery, digest, null) : withoutMessage('tombstone', unhandled)
    const withoutSchema = (value: unknown, kind: ProblemKind, text: string): Received<M> => {
      const id = idOf(value as M, delivery)
      const known = 'id' in id ? id.id : null
      const facts = factsIn(value, delivery)
      return unreadable(delivery, digest ?? digestNow(delivery), known, laneOf(delivery), kind, text, facts)
    }
    let value: unknown
    try {
      const bytes = decompress(delivery.body, delivery.properties.contentEncoding, limits)
      value = codec.decode(bytes, limits, delivery)
    } catch (error) {
      if (error instanceof InexactNumber) return withoutSchema(error.exact, 'inexact number', error.message)
      return withoutMessage('undecodable', errorText(error, 500))
    }
    // Before the schema, which may belong to another type or version.
    const mismatch = unexpected?.(value as M, delivery) ?? null
    if (mismatch !== null) return withoutSchema(value, mismatch.kind, mismatch.text)
    if (schema === undefined) return read(delivery, digest, value)

    const invalid = (text: string) => withoutSchema(value, 'invalid', text)
    const conclude = (result: StandardSchemaV1.Result<M>) => {
      if (result.issues !== undefined) return invalid(issuesText(result.issues))
      carryInexact(value, result.value)
      return read(delivery, digest, result.value)
    }
    try {
      const result = schema['~standard'].validate(value)
      if (!(result instanceof Promise)) return conclude(result)
      const read = result.then(conclude).catch(error => invalid(errorText(error, 500)))
      return limitTime(delivery, read, reason => withoutSchema(value, 'unvalidated', reason))
    } catch (error) {
      return invalid(errorText(error, 500))
    }
  }
}

const unhandled =
  "a record without a body (a tombstone), and the contract does not handle it: let the schema accept null, set message.tombstones to 'handle', or delete.when of a projection to 'tombstone'"

/** Explains a missing identity of a tombstone. */
function bodyless(delivery: Delivery): string {
  return isTombstone(delivery)
    ? '; a tombstone has no body: read it from the record key, a header or the position'
    : ''
}

/** Checks types and versions against the contract; null if it lists none. */
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
      return { kind: 'unknown type', text: `type ${itsType ?? 'missing'}: this consumer handles ${types}` }
    if (readable === undefined) return null
    const version = fact(schemaVersion, message, delivery)
    if (version !== null && readable(version)) return null
    return {
      kind: 'unsupported version',
      text: `schema version ${version ?? 'missing'} is not supported here`,
    }
  }
}

function versionTest(versions: NonNullable<Consumer['message']['versions']>): (version: string) => boolean {
  if ('min' in versions)
    return version =>
      /^\d{1,10}$/.test(version) && Number(version) >= versions.min && Number(version) <= versions.max
  const listed = new Set(versions.map(String))
  return version => listed.has(version)
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
