import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Consumer } from '../contract/define-consumer.ts'
import { errorCode, errorText, OncewardError } from '../errors.ts'
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

/** The part of reading that has a time limit. */
export interface LimitedStep {
  readonly name: 'decoding' | 'validation'
  /** Added to the limit. */
  readonly extraMs: number
}

/**
 * Waits for `work`, which never rejects, up to a time limit; then returns the result of `late` with the
 * reason.
 */
export type TimeLimit = <T>(work: Promise<T>, late: (reason: string) => T, step: LimitedStep) => Promise<T>

const validation: LimitedStep = { name: 'validation', extraMs: 0 }

const unlimited: TimeLimit = work => work

export type MessageReader<M> = (delivery: Delivery) => Received<M> | Promise<Received<M>>

/**
 * Compiles a contract's message and identity sections into one function: limits, decompression, decoding,
 * validation, identities, digest. The function never throws. Every error becomes a `Problem`, because
 * unreadable bytes still need a row and an outcome. It is synchronous unless codec or schema are not.
 */
export function createMessageReader<M, Tx>(
  consumer: Consumer<M, Tx>,
  limitTime: TimeLimit = unlimited,
): MessageReader<M> {
  const broken = (delivery: Delivery, error: unknown) => unreadableBy(consumer, delivery, error)
  const read = compileReader(consumer, (delivery, work, late, step) =>
    limitTime(
      work.catch(error => broken(delivery, error)),
      reason =>
        orElse(
          () => late(reason),
          error => broken(delivery, error),
        ),
      step,
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
  step: LimitedStep,
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

  /** `early` is the digest, if it was computed before decoding. */
  const undecoded = (
    delivery: Delivery,
    early: Buffer | null,
    value: unknown,
    kind: ProblemKind,
    text: string,
  ): Received<M> => {
    const id = idOf(value as M, delivery)
    const known = 'id' in id ? id.id : null
    const facts = factsIn(value, delivery)
    return unreadable(delivery, early ?? digestNow(delivery), known, laneOf(delivery), kind, text, facts)
  }

  const withoutMessage = (
    delivery: Delivery,
    early: Buffer | null,
    kind: ProblemKind,
    text: string,
  ): Received<M> => {
    const id = knownOf(delivery)?.messageId ?? idWithoutBody(consumer.identity.id, delivery)
    const facts = factsIn(undefined, delivery)
    return unreadable(delivery, early ?? digestNow(delivery), id, laneOf(delivery), kind, text, facts)
  }

  /** Headers over their limits get no digest and no facts: the sender decides how much work that is. */
  const unreadableOver = (delivery: Delivery, early: Buffer | null, kind: ProblemKind, text: string) =>
    unreadable(
      delivery,
      early ?? contentDigest(delivery, []),
      knownOf(delivery)?.messageId ?? idWithoutBody(consumer.identity.id, delivery),
      laneOf(delivery),
      kind,
      text,
    )

  const refused = (delivery: Delivery, early: Buffer | null, error: unknown): Received<M> => {
    if (error instanceof InexactNumber)
      return undecoded(delivery, early, error.exact, 'inexact number', error.message)
    return withoutMessage(delivery, early, kindOfRefusal(error), errorText(error, 500))
  }

  const validated = (delivery: Delivery, early: Buffer | null, value: unknown, result: Result<M>) => {
    if (result.issues !== undefined)
      return undecoded(delivery, early, value, 'invalid', issuesText(result.issues))
    carryInexact(value, result.value)
    return read(delivery, early, result.value)
  }

  const decoded = (
    delivery: Delivery,
    early: Buffer | null,
    value: unknown,
  ): Received<M> | Promise<Received<M>> => {
    // Before the schema, which may belong to another type or version.
    const mismatch = unexpected?.(value as M, delivery) ?? null
    if (mismatch !== null) return undecoded(delivery, early, value, mismatch.kind, mismatch.text)
    if (schema === undefined) return read(delivery, early, value)
    try {
      const result = schema['~standard'].validate(value)
      if (!(result instanceof Promise)) return validated(delivery, early, value, result)
      const invalid = (text: string, kind: ProblemKind) => undecoded(delivery, early, value, kind, text)
      const reading = result
        .then(result => validated(delivery, early, value, result))
        .catch(error => invalid(errorText(error, 500), 'invalid'))
      return limitTime(delivery, reading, reason => invalid(reason, 'unvalidated'), validation)
    } catch (error) {
      return undecoded(delivery, early, value, 'invalid', errorText(error, 500))
    }
  }

  const decoding: LimitedStep = { name: 'decoding', extraMs: codec.waitMaxMs ?? 0 }
  /** Here and not in the reader: its closures would cost every message of a synchronous codec. */
  const decodedLater = (delivery: Delivery, early: Buffer | null, work: Promise<unknown>) => {
    const reading = work.then(
      value => decoded(delivery, early, value),
      error => refused(delivery, early, error),
    )
    return limitTime(
      delivery,
      reading,
      reason => withoutMessage(delivery, early, 'unvalidated', reason),
      decoding,
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
    const listed = over === null ? digestHeaders : []
    const digest = knownOf(delivery)?.digest ?? (digestsLate ? null : contentDigest(delivery, listed))
    const broken = unreadableReason(delivery.properties.contentEncoding)
    if (broken !== null)
      return over === null
        ? withoutMessage(delivery, digest, 'undecodable', broken)
        : unreadableOver(delivery, digest, 'undecodable', broken)
    if (over !== null) return unreadableOver(delivery, digest, 'over limit', over)
    if (isTombstone(delivery))
      return tombstones === 'handle'
        ? read(delivery, digest, null)
        : withoutMessage(delivery, digest, 'tombstone', unhandled)
    let value: unknown
    try {
      const bytes = decompress(delivery.body, delivery.properties.contentEncoding, limits)
      value = codec.decode(bytes, limits, delivery)
    } catch (error) {
      const received = refused(delivery, digest, error)
      // A consumer that waits for its registry waits for a promise.
      return isRegistryAway(received) ? Promise.resolve(received) : received
    }
    return value instanceof Promise ? decodedLater(delivery, digest, value) : decoded(delivery, digest, value)
  }
}

/**
 * For decisions that need the message: as `createMessageReader` without a time limit, but rejects while the
 * registry of its schema is away.
 */
export function createAnsweredReader<M, Tx>(
  consumer: Consumer<M, Tx>,
): (delivery: Delivery) => Promise<Received<M>> {
  const read = createMessageReader(consumer)
  return async delivery => {
    const received = await read(delivery)
    if (!received.readable && received.problem.kind === 'registry away')
      throw new OncewardError('registry_unavailable', received.problem.text)
    return received
  }
}

/** True for a message whose registry cannot be reached: it is read again when the registry answers. */
export function isRegistryAway(received: Received): boolean {
  return !received.readable && received.problem.kind === 'registry away'
}

type Result<M> = StandardSchemaV1.Result<M>

function kindOfRefusal(error: unknown): ProblemKind {
  switch (errorCode(error)) {
    case 'registry_unavailable':
    // A missing package or a wrong setting concerns every message, and none of them is at fault.
    case 'configuration':
      return 'registry away'
    case 'schema_unknown':
      return 'unknown schema'
    default:
      return 'undecodable'
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
