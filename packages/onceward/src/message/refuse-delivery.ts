import { errorCode, errorText } from '../errors.ts'
import type { Delivery } from '../ports/source.ts'
import type { CompiledContract } from './compiled-contract.ts'
import { contentDigest, isTombstone } from './content-digest.ts'
import { InexactNumber } from './inexact-numbers.ts'
import { idWithoutBody, readFacts } from './read-identities.ts'
import type { ProblemKind, Received } from './received.ts'
import { knownOf, unreadable } from './unreadable-message.ts'

/**
 * Makes the unreadable messages of a contract: the problem, with every identity that can still be read.
 * `early` is the digest, if it was computed before decoding.
 */
export class Refusals<M, Tx> {
  readonly #contract: CompiledContract<M, Tx>

  constructor(contract: CompiledContract<M, Tx>) {
    this.#contract = contract
  }

  /** A decoded message without a usable id, business key or order key. */
  unidentified(
    delivery: Delivery,
    early: Buffer | null,
    message: M,
    id: string | null,
    kind: ProblemKind,
    text: string,
  ): Received<M> {
    const digest = early ?? this.#contract.digestNow(delivery)
    return this.#withFacts(delivery, digest, message, id, kind, text + bodyless(delivery))
  }

  /** The value was decoded, but does not fit the contract. */
  unfit(
    delivery: Delivery,
    early: Buffer | null,
    value: unknown,
    kind: ProblemKind,
    text: string,
  ): Received<M> {
    const id = this.#contract.idOf(value as M, delivery)
    const digest = early ?? this.#contract.digestNow(delivery)
    return this.#withFacts(delivery, digest, value, 'id' in id ? id.id : null, kind, text)
  }

  /** Nothing was decoded. */
  withoutMessage(delivery: Delivery, early: Buffer | null, kind: ProblemKind, text: string): Received<M> {
    const digest = early ?? this.#contract.digestNow(delivery)
    return this.#withFacts(delivery, digest, undefined, this.#idWithoutBody(delivery), kind, text)
  }

  /** Headers over their limits get no digest and no facts: the sender decides how much work that is. */
  overLimit(delivery: Delivery, early: Buffer | null, kind: ProblemKind, text: string): Received<M> {
    const digest = early ?? contentDigest(delivery, [])
    const lane = this.#contract.laneOf(delivery)
    return unreadable(delivery, digest, this.#idWithoutBody(delivery), lane, kind, text)
  }

  /** Decompression or the codec failed. */
  undecodable(delivery: Delivery, early: Buffer | null, error: unknown): Received<M> {
    if (error instanceof InexactNumber)
      return this.unfit(delivery, early, error.exact, 'inexact number', error.message)
    return this.withoutMessage(delivery, early, kindOfError(error), errorText(error, 500))
  }

  #idWithoutBody(delivery: Delivery): string | null {
    return knownOf(delivery)?.messageId ?? idWithoutBody(this.#contract.consumer.identity.id, delivery)
  }

  #withFacts(
    delivery: Delivery,
    digest: Buffer,
    value: unknown,
    id: string | null,
    kind: ProblemKind,
    text: string,
  ): Received<M> {
    const { identities } = this.#contract
    const facts = () => readFacts(identities, value as M, delivery)
    return unreadable(delivery, digest, id, this.#contract.laneOf(delivery), kind, text, facts)
  }
}

function kindOfError(error: unknown): ProblemKind {
  switch (errorCode(error)) {
    case 'registry_unavailable':
    // A missing package or a wrong setting concerns every message, and none of them is at fault.
    case 'configuration':
      return 'registry unavailable'
    case 'schema_unknown':
      return 'unknown schema'
    default:
      return 'undecodable'
  }
}

/** Explains a missing identity of a tombstone. */
function bodyless(delivery: Delivery): string {
  return isTombstone(delivery)
    ? '; a tombstone has no body: read it from the record key, a header or the position'
    : ''
}
