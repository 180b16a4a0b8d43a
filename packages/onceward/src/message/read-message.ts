import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Consumer } from '../contract/define-consumer.ts'
import { errorText, OncewardError } from '../errors.ts'
import type { Delivery } from '../ports/source.ts'
import { CompiledContract } from './compiled-contract.ts'
import { contentDigest, isTombstone } from './content-digest.ts'
import { DecodedMessage, type Later } from './decoded-message.ts'
import { decompress } from './decompress.ts'
import { compileExpectation } from './expectation.ts'
import { carryInexact } from './inexact-numbers.ts'
import { overLimit } from './limits.ts'
import { envelopeOf, readKeys } from './read-identities.ts'
import type { ProblemKind, Received } from './received.ts'
import { Refusals } from './refuse-delivery.ts'
import { unreadableReason } from './unreadable-encoding.ts'
import { knownOf, orElse, unreadableBy } from './unreadable-message.ts'

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
  const reading = new Reading(consumer, (delivery, work, late, step) =>
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
      () => reading.read(delivery),
      error => broken(delivery, error),
    )
}

type TimeLimitFor<M> = (
  delivery: Delivery,
  work: Promise<Received<M>>,
  late: (reason: string) => Received<M>,
  step: LimitedStep,
) => Promise<Received<M>>

/**
 * Reads deliveries by one contract, step by step. A synchronous codec and schema make no closure for a
 * message.
 */
class Reading<M, Tx> {
  readonly #contract: CompiledContract<M, Tx>
  readonly #refusals: Refusals<M, Tx>
  readonly #limitTime: TimeLimitFor<M>
  readonly #later: Later<M>
  readonly #unexpected: ReturnType<typeof compileExpectation<M, Tx>>
  readonly #decoding: LimitedStep
  /**
   * Without markers the digest of an applied message is not stored, and it is two fifths of the reading time.
   */
  readonly #digestsLate: boolean

  constructor(consumer: Consumer<M, Tx>, limitTime: TimeLimitFor<M>) {
    const contract = new CompiledContract(consumer)
    this.#contract = contract
    this.#refusals = new Refusals(contract)
    this.#limitTime = limitTime
    this.#later = {
      envelope: read => envelopeOf(contract.identities, read),
      digest: delivery => contract.digestLater(delivery),
    }
    this.#unexpected = compileExpectation(consumer, contract.identities)
    this.#decoding = { name: 'decoding', extraMs: consumer.message.codec.waitMaxMs ?? 0 }
    this.#digestsLate = consumer.dedup !== 'marker'
  }

  read(delivery: Delivery): Received<M> | Promise<Received<M>> {
    if (delivery.held?.read !== undefined) return this.#readBefore(delivery)
    const { limits, digestHeaders, tombstones } = this.#contract.consumer.message
    const over = overLimit(delivery, limits)
    const listed = over === null ? digestHeaders : []
    const digest = knownOf(delivery)?.digest ?? (this.#digestsLate ? null : contentDigest(delivery, listed))
    const broken = unreadableReason(delivery.properties.contentEncoding)
    if (broken !== null)
      return over === null
        ? this.#refusals.withoutMessage(delivery, digest, 'undecodable', broken)
        : this.#refusals.overLimit(delivery, digest, 'undecodable', broken)
    if (over !== null) return this.#refusals.overLimit(delivery, digest, 'over limit', over)
    if (isTombstone(delivery))
      return tombstones === 'handle'
        ? this.#identify(delivery, digest, null)
        : this.#refusals.withoutMessage(delivery, digest, 'tombstone', unhandled)
    return this.#decode(delivery, digest)
  }

  /** A stored message that this process has read. */
  #readBefore(delivery: Delivery): Received<M> {
    const { read, messageId, digest } = delivery.held!
    const message = read!.message as M
    return new DecodedMessage(delivery, message, messageId!, read!, read!.lane, digest, this.#later)
  }

  #decode(delivery: Delivery, early: Buffer | null): Received<M> | Promise<Received<M>> {
    const { codec, limits } = this.#contract.consumer.message
    let value: unknown
    try {
      const bytes = decompress(delivery.body, delivery.properties.contentEncoding, limits)
      value = codec.decode(bytes, limits, delivery)
    } catch (error) {
      const received = this.#refusals.undecodable(delivery, early, error)
      // A consumer that waits for its registry waits for a promise.
      return isRegistryUnavailable(received) ? Promise.resolve(received) : received
    }
    return value instanceof Promise
      ? this.#decodeLater(delivery, early, value)
      : this.#validate(delivery, early, value)
  }

  #decodeLater(delivery: Delivery, early: Buffer | null, work: Promise<unknown>): Promise<Received<M>> {
    const reading = work.then(
      value => this.#validate(delivery, early, value),
      error => this.#refusals.undecodable(delivery, early, error),
    )
    const late = (reason: string) => this.#refusals.withoutMessage(delivery, early, 'unvalidated', reason)
    return this.#limitTime(delivery, reading, late, this.#decoding)
  }

  #validate(delivery: Delivery, early: Buffer | null, value: unknown): Received<M> | Promise<Received<M>> {
    // Before the schema, which may belong to another type or version.
    const mismatch = this.#unexpected?.(value as M, delivery) ?? null
    if (mismatch !== null) return this.#refusals.unfit(delivery, early, value, mismatch.kind, mismatch.text)
    const { schema } = this.#contract.consumer.message
    if (schema === undefined) return this.#identify(delivery, early, value as M)
    try {
      const result = schema['~standard'].validate(value)
      return result instanceof Promise
        ? this.#validateLater(delivery, early, value, result)
        : this.#validated(delivery, early, value, result)
    } catch (error) {
      return this.#refusals.unfit(delivery, early, value, 'invalid', errorText(error, 500))
    }
  }

  #validateLater(
    delivery: Delivery,
    early: Buffer | null,
    value: unknown,
    work: Promise<Result<M>>,
  ): Promise<Received<M>> {
    const refuse = (text: string, kind: ProblemKind) =>
      this.#refusals.unfit(delivery, early, value, kind, text)
    const reading = work
      .then(result => this.#validated(delivery, early, value, result))
      .catch(error => refuse(errorText(error, 500), 'invalid'))
    return this.#limitTime(delivery, reading, reason => refuse(reason, 'unvalidated'), validation)
  }

  #validated(delivery: Delivery, early: Buffer | null, value: unknown, result: Result<M>): Received<M> {
    if (result.issues !== undefined)
      return this.#refusals.unfit(delivery, early, value, 'invalid', issuesText(result.issues))
    carryInexact(value, result.value)
    return this.#identify(delivery, early, result.value)
  }

  #identify(delivery: Delivery, early: Buffer | null, value: M | null): Received<M> {
    const message = value as M
    const { consumer, identities } = this.#contract
    const id = this.#contract.idOf(message, delivery)
    if ('problem' in id)
      return this.#refusals.unidentified(delivery, early, message, null, `id ${id.problem}`, id.text)
    const keys = readKeys(consumer, identities, message, delivery)
    if ('kind' in keys)
      return this.#refusals.unidentified(delivery, early, message, id.id, keys.kind, keys.text)
    const lane = keys.orderKey ?? this.#contract.laneOf(delivery)
    return new DecodedMessage(delivery, message, id.id, keys, lane, early, this.#later)
  }
}

/**
 * For decisions that need the message: as `createMessageReader` without a time limit, but rejects while the
 * registry of its schema is unavailable.
 */
export function createAnsweredReader<M, Tx>(
  consumer: Consumer<M, Tx>,
): (delivery: Delivery) => Promise<Received<M>> {
  const read = createMessageReader(consumer)
  return async delivery => {
    const received = await read(delivery)
    if (!received.readable && received.problem.kind === 'registry unavailable')
      throw new OncewardError('registry_unavailable', received.problem.text)
    return received
  }
}

/** True for a message whose registry cannot be reached: it is read again when the registry answers. */
export function isRegistryUnavailable(received: Received): boolean {
  return !received.readable && received.problem.kind === 'registry unavailable'
}

type Result<M> = StandardSchemaV1.Result<M>

const unhandled =
  "a record without a body (a tombstone), and the contract does not handle it: let the schema accept null, set message.tombstones to 'handle', or delete.when of a projection to 'tombstone'"

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
