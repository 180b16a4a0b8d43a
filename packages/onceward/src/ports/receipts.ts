import type { NewMarker } from './markers.ts'

/** The facts of one message, as an auditor asks for them. Null: the message does not have it. */
export interface ReceiptFacts {
  readonly type: string | null
  readonly schemaVersion: string | null
  readonly producer: string | null
  readonly correlationId: string | null
  readonly causationId: string | null
  readonly eventId: string | null
  readonly businessKey: string | null
  readonly aggregateId: string | null
  readonly aggregateVersion: string | null
  readonly origin: string
  readonly position: string | null
  /** The broker's timestamp. */
  readonly sentMs: number | null
  /** When the event happened, by the message itself. */
  readonly occurredAtMs: number | null
  readonly mode: string
  readonly campaign: string | null
}

export interface Receipt {
  readonly facts: ReceiptFacts
  /** The bytes of the message; null where the contract keeps the facts only. */
  readonly payload: Buffer | null
  /** It must be found without a marker: there is none, or the marker is removed earlier. */
  readonly outlivesMarker: boolean
}

export interface ReceiptSession {
  /** Writes the receipts of messages that get no marker. */
  keep(messages: readonly (Pick<NewMarker, 'id' | 'digest'> & { readonly receipt: Receipt })[]): Promise<void>
}
