import type { Verdict } from '../engine/batch/verdicts.ts'
import type { Log } from '../environment.ts'
import type { DeliveryProperties } from '../ports/source.ts'
import type { Impossible } from './impossible.ts'
import type { PublishRequest } from './publish-target.ts'

/** The batch's transaction, as a handler sees it. */
export interface SqlTransaction {
  query<Row = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ rows: Row[]; rowCount: number }>
}

/**
 * Why a message is handled.
 *
 * - `live`: it has just arrived.
 * - `replay`: history; applied messages are skipped, missing ones are applied.
 * - `backfill`: history from before this consumer existed.
 * - `rebuild`: all of history again, into separate tables.
 * - `repair`: selected keys; ignored and stale messages among them are handled again.
 * - `forensic`: everything is rolled back.
 *
 * In every mode but `live`, external calls and published messages are suppressed unless an operator approved
 * them.
 */
export type Mode = 'live' | CampaignMode

/** The modes of a campaign. See `Mode`. */
export type CampaignMode = 'replay' | 'backfill' | 'rebuild' | 'repair' | 'forensic'

/** What a handler receives for one message. */
export interface HandlerContext<M, Tx, External extends string = string, Publish extends string = string> {
  /** The decoded and validated message. */
  readonly message: M
  /** Its identities and broker facts. */
  readonly envelope: Envelope
  /** The batch's transaction. The handler can neither commit nor roll it back. */
  readonly tx: Tx
  /** Requests external calls and published messages, and adds evidence. */
  readonly effects: Effects<External, Publish>
  /** For a message that waited after `Verdict.wait`: whether it was released in time. Null otherwise. */
  readonly waited: 'released' | 'too late' | null
  /** Id of the run: it identifies the consumer, the version of its code and the mode. See `cause`. */
  readonly run: number
  readonly mode: Mode
  /** Aborted when the handler exceeds its time limit, and when the consumer stops at once. */
  readonly signal: AbortSignal
  readonly log: Log
}

/** What a batch handler receives. */
export interface BatchContext<M, Tx, External extends string = string, Publish extends string = string> {
  readonly batch: readonly BatchItem<M, External, Publish>[]
  readonly tx: Tx
  readonly mode: Mode
  readonly signal: AbortSignal
  readonly log: Log
}

/** One message of a batch. */
export interface BatchItem<M, External extends string = string, Publish extends string = string> {
  readonly message: M
  readonly envelope: Envelope
  readonly effects: Effects<External, Publish>
  /** For a message that waited after `Verdict.wait`: whether it was released in time. Null otherwise. */
  readonly waited: 'released' | 'too late' | null
  /** Id of the run. See `cause`. */
  readonly run: number
}

/** Applies one message. */
export type Handler<M, Tx, External extends string = string, Publish extends string = string> = (
  context: HandlerContext<M, Tx, External, Publish>,
) => Promise<Verdict | void> | Verdict | void

/** May return verdicts for single items; the handler must not have written anything for those. */
export type BatchHandler<M, Tx, External extends string = string, Publish extends string = string> = (
  context: BatchContext<M, Tx, External, Publish>,
) => Promise<ReadonlyMap<BatchItem<M, External, Publish>, Verdict> | void>

/**
 * A name that the contract declares. Without declared names, no text is one: the type says what to do.
 */
export type TargetName<Names extends string, Where extends string> = [Names] extends [never]
  ? string & Impossible<`declare the target in ${Where}, or list the names as a type argument`>
  : Names

/** What a handler may request beside its writes. Names are those of the contract's `effect` section. */
export interface Effects<External extends string = string, Publish extends string = string> {
  /**
   * Records the call in the batch's transaction. A dispatcher makes it after the commit, with `key` as
   * idempotency key.
   */
  external(target: TargetName<External, 'effect.external'>, request: ExternalRequest): void
  /**
   * Writes a message to the outbox in the batch's transaction. A relay publishes it after the commit, at
   * least once and always under the same id.
   */
  publish(target: TargetName<Publish, 'effect.publish'>, request: PublishRequest): void
  /**
   * Makes the call at once, inside the transaction; for fast targets with policy `keyed`. The transaction and
   * its locks are held until the answer arrives. Nothing is recorded: a batch that rolls back repeats the
   * call with the same key. Returns null in modes that suppress calls.
   */
  call(
    target: TargetName<External, 'effect.external'>,
    request: ExternalRequest,
  ): Promise<InlineAnswer | null>
  /**
   * Adds evidence to the marker of the message, as a note that `onceward explain` shows: what was decided and
   * why. Written if the message is applied, in every mode. `detail` is text, or a value that is written as
   * JSON, of up to 4,000 characters. The first evidence under a name stays.
   */
  evidence(name: string, detail: unknown): void
  /**
   * Whether this consumer, or another one by name, has applied another message: a committed marker says so.
   * An answer about the past, not a lock: what must happen once is decided by markers and keys.
   */
  alreadyProcessed(messageId: string, consumer?: string): Promise<boolean>
}

/**
 * A complete answer of the target with a 2xx status. Any other answer throws, and the failure policy applies.
 */
export interface InlineAnswer {
  readonly status: number
  readonly body: Uint8Array
}

/** One external call, as a handler requests it. */
export interface ExternalRequest {
  /**
   * Identifies the operation: every attempt and redelivery must use the same key. Default: the
   * `idempotencyKey` of the message, if the contract says where to read it.
   */
  key?: string
  /** Bytes are sent unchanged; any other value is sent as JSON. */
  body: unknown
  contentType?: string
}

/** The parts of a delivery from which identities may be read. */
export interface DeliveryFacts {
  readonly headers: Readonly<Record<string, unknown>>
  readonly properties: DeliveryProperties
  readonly key: string | null
}

/** The identities of one message and the broker facts of its delivery. */
export interface Envelope {
  readonly id: string
  readonly businessKey: string | null
  readonly orderKey: string | null
  readonly eventId: string | null
  readonly idempotencyKey: string | null
  readonly aggregateId: string | null
  readonly aggregateVersion: string | null
  readonly correlationId: string | null
  readonly causationId: string | null
  readonly type: string | null
  readonly producer: string | null
  readonly schemaVersion: string | null
  /** When the event happened, in milliseconds since 1970. */
  readonly occurredAtMs: number | null
  readonly headers: Readonly<Record<string, unknown>>
  readonly properties: DeliveryProperties
  readonly origin: string
  /** The broker's key: routing key or record key. */
  readonly key: string | null
  readonly position: string | null
  readonly redelivered: boolean
  /** Null for live messages. Otherwise the mode, and the campaign where there is one. */
  readonly replay: { readonly mode: CampaignMode; readonly campaign: string | null } | null
}
