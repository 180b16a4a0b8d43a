import type { Envelope } from '../contract/handler.ts'
import type { Delivery } from '../ports/source.ts'
import type { EarlierAttempts } from '../ports/suspects.ts'

/** A delivery after reading: a message with its identities, or the reason why it is none. */
export type Received<M = unknown> = ReadableMessage<M> | UnreadableMessage

export interface ReadableMessage<M = unknown> {
  readonly readable: true
  readonly delivery: Delivery
  readonly digest: Buffer
  readonly id: string
  /** Messages of one lane are applied one after the other, in order of arrival; null: in any order. */
  readonly lane: string | null
  readonly message: M
  readonly envelope: Envelope
  readonly businessKey: string | null
  readonly orderKey: string | null
  readonly businessDigest: Buffer | null
}

export interface UnreadableMessage {
  readonly readable: false
  readonly delivery: Delivery
  readonly digest: Buffer
  /** Known when the contract reads it from a header or property, or the body decoded but was invalid. */
  readonly id: string | null
  /** Under partition order even what cannot be read has its turn. */
  readonly lane: string | null
  readonly problem: Problem
}

export interface Problem {
  readonly kind: ProblemKind
  readonly text: string
  /** Of `process died`: how often. */
  readonly earlier?: EarlierAttempts
}

export type ProblemKind =
  | 'over limit'
  | 'undecodable'
  /** It has a whole number that the codec would round. */
  | 'inexact number'
  /** A record without a body, which the contract does not handle. */
  | 'tombstone'
  | 'invalid'
  /** The schema's answer did not come in time: nothing is known against the message. */
  | 'unvalidated'
  | 'id missing'
  | 'id malformed'
  | 'business key missing'
  | 'business key malformed'
  | 'order key missing'
  | 'order key malformed'
  /** The contract lists the types or versions it can read, and this is none of them. */
  | 'unknown type'
  | 'unsupported version'
  /** Whoever read it was never heard of again. */
  | 'process died'
