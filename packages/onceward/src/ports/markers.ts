import type { Receipt } from './receipts.ts'

export interface NewMarker {
  readonly id: string
  readonly digest: Buffer
  /** The digest that older code computed for the same content. A marker with it belongs to this content. */
  readonly formerDigest?: Buffer
  readonly position: string | null
  /**
   * What is kept of the message beside its marker, in the same transaction. Absent where the contract asks
   * for none.
   */
  readonly receipt?: Receipt
}

export type MarkerStatus =
  | 'applied'
  | 'ignored'
  | 'duplicate'
  | 'stale'
  /** Durable here and unfinished: to be processed later, after a missing version, or by an operator. */
  | 'stored'
  | 'waiting'
  | 'parked'
  | 'dead'
  | 'quarantined'

export type MarkerAnswer =
  | { readonly kind: 'first' }
  | { readonly kind: 'seen'; readonly status: MarkerStatus; readonly sameDigest: boolean }
