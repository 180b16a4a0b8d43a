import type { Verdict } from '../engine/batch/verdicts.ts'
import type { Log } from '../environment.ts'
import type { DeliveryProperties } from '../ports/source.ts'
import type { PublishRequest } from './publish-target.ts'

/** What a handler may do to the database inside the batch's transaction. */
export interface SqlTransaction {
  query<Row = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ rows: Row[]; rowCount: number }>
}

/**
 * Why a message is handled. `live`: it is news. `replay`: history; what is applied is skipped, what is
 * missing is applied. `backfill`: history this consumer never saw. `rebuild`: all of it anew, into tables of
 * its own. `repair`: selected keys, and what was ignored or stale among them is looked at again. `forensic`:
 * nothing lasts. In all but `live` external effects and messages are suppressed unless people approved them.
 */
export type Mode = 'live' | CampaignMode

export type CampaignMode = 'replay' | 'backfill' | 'rebuild' | 'repair' | 'forensic'

export interface HandlerContext<M, Tx> {
  readonly message: M
  readonly envelope: Envelope
  readonly tx: Tx
  readonly effects: Effects
  /** Held work that waited for its turn: whether it came in time. Null for everything else. */
  readonly waited: 'released' | 'too late' | null
  /** The run this is part of: which consumer, which version of its code, in which mode. See `cause`. */
  readonly run: number
  readonly mode: Mode
  /** Aborted when the handler has run too long or the consumer stops at once. */
  readonly signal: AbortSignal
  readonly log: Log
}

export interface BatchContext<M, Tx> {
  readonly batch: readonly BatchItem<M>[]
  readonly tx: Tx
  readonly mode: Mode
  readonly signal: AbortSignal
  readonly log: Log
}

export interface BatchItem<M> {
  readonly message: M
  readonly envelope: Envelope
  readonly effects: Effects
  /** It waited for its turn, which came or did not; null for what waited for nobody. */
  readonly waited: 'released' | 'too late' | null
  /** The run this is part of. See `cause`. */
  readonly run: number
}

export type Handler<M, Tx> = (context: HandlerContext<M, Tx>) => Promise<Verdict | void> | Verdict | void

/** May return verdicts for single items; for those the handler must not have written anything. */
export type BatchHandler<M, Tx> = (
  context: BatchContext<M, Tx>,
) => Promise<ReadonlyMap<BatchItem<M>, Verdict> | void>

export interface Effects {
  /**
   * Records the intent in the batch's transaction; a dispatcher calls later with `key` as idempotency key.
   */
  external(target: string, request: ExternalRequest): void
  /**
   * Writes a message into the outbox in the batch's transaction; a relay publishes it after the commit, at
   * least once under one id.
   */
  publish(target: string, request: PublishRequest): void
  /**
   * Calls now, inside the transaction, for fast targets with policy `keyed`. It holds the transaction and its
   * locks for as long as the call takes, nothing is recorded, and a batch that rolls back calls again with
   * the same key. Null in modes that suppress calls.
   */
  call(target: string, request: ExternalRequest): Promise<InlineAnswer | null>
}

/** A complete answer of the target: 2xx. Anything else is thrown and goes through the failure policy. */
export interface InlineAnswer {
  readonly status: number
  readonly body: Uint8Array
}

export interface ExternalRequest {
  /** Stable for the operation: the same intent always has the same key. */
  key: string
  /** Bytes are sent as they are; anything else as JSON. */
  body: unknown
  contentType?: string
}

/** The facts of a delivery that identities may be read from. */
export interface DeliveryFacts {
  readonly headers: Readonly<Record<string, unknown>>
  readonly properties: DeliveryProperties
  readonly key: string | null
}

/** The identities of one message, kept apart. */
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
  readonly headers: Readonly<Record<string, unknown>>
  readonly properties: DeliveryProperties
  readonly origin: string
  /** The broker's own key: routing key or record key. */
  readonly key: string | null
  readonly position: string | null
  readonly redelivered: boolean
}
