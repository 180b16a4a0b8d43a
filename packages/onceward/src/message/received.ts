import type { Envelope } from '../contract/handler.ts'
import type { Delivery } from '../ports/source.ts'
import type { EarlierAttempts } from '../ports/suspects.ts'

/** A delivery after reading: a message with its identities, or the reason why it is unreadable. */
export type Received<M = unknown> = ReadableMessage<M> | UnreadableMessage

export interface ReadableMessage<M = unknown> {
  readonly readable: true
  readonly delivery: Delivery
  readonly digest: Buffer
  readonly id: string
  /** Messages of one lane are applied one at a time, in order of arrival; null: in any order. */
  readonly lane: string | null
  readonly message: M
  readonly envelope: Envelope
  readonly businessKey: string | null
  readonly orderKey: string | null
  readonly businessDigest: Buffer | null
  /** How long its own handler call took, the last one of the batch. */
  handlerMs?: number
}

export interface UnreadableMessage {
  readonly readable: false
  readonly delivery: Delivery
  readonly digest: Buffer
  /** Known if the contract reads it from a header or property, or if the body was decoded but invalid. */
  readonly id: string | null
  /** With order by partition, an unreadable message keeps its place too. */
  readonly lane: string | null
  readonly problem: Problem
  /**
   * What the contract still reads from its headers, and from its body if that was decoded. Absent if nothing
   * of it may be read.
   */
  readonly facts?: () => MessageFacts
}

/** The parts of an envelope that are kept as evidence. */
export type MessageFacts = Pick<
  Envelope,
  | 'type'
  | 'schemaVersion'
  | 'producer'
  | 'correlationId'
  | 'causationId'
  | 'eventId'
  | 'aggregateId'
  | 'aggregateVersion'
  | 'occurredAtMs'
>

/** Of an unreadable message, as far as they can be read; null if they cannot. */
export function factsOf(received: Received): MessageFacts | null {
  return received.readable ? received.envelope : (received.facts?.() ?? null)
}

export interface Problem {
  readonly kind: ProblemKind
  readonly text: string
  /** For `process died`: the earlier attempts. */
  readonly earlier?: EarlierAttempts
}

export type ProblemKind =
  | 'over limit'
  | 'undecodable'
  /** A whole number that the codec would round. */
  | 'inexact number'
  /** A record without a body that the contract does not handle. */
  | 'tombstone'
  | 'invalid'
  /** Decoding or validation did not finish in time; the message may be valid. */
  | 'unvalidated'
  /** The registry of its schema cannot be reached. The consumer waits and reads it again. */
  | 'registry unavailable'
  /** The registry does not know its schema, so far. */
  | 'unknown schema'
  | 'id missing'
  | 'id malformed'
  | 'business key missing'
  | 'business key malformed'
  | 'order key missing'
  | 'order key malformed'
  /** The contract lists types or versions, and this is another one. */
  | 'unknown type'
  | 'unsupported version'
  /** Its process crashed while it was read. */
  | 'process died'
