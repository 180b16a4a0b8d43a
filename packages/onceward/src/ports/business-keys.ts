import type { MarkerStatus } from './markers.ts'

export interface BusinessKeySession {
  /**
   * As `insertMarkers`, for declared business keys, after the markers. The keys are distinct. A holder whose
   * status is unfinished keeps that status until this transaction ends, so a message stored now to wait for
   * it is seen by the transaction that ends it.
   */
  insert(claims: readonly NewBusinessKey[]): Promise<readonly BusinessKeyAnswer[]>
}

export interface NewBusinessKey {
  readonly key: string
  /** Digest over the declared business fields; null when the contract declares none. */
  readonly digest: Buffer | null
  readonly id: string
}

export type BusinessKeyAnswer =
  | { readonly kind: 'first' }
  | {
      readonly kind: 'seen'
      /** The message that holds the key, and the status of its marker; null when the marker is gone. */
      readonly byId: string
      readonly status: MarkerStatus | null
      readonly sameDigest: boolean
      /** How many messages wait for the key. */
      readonly waiting: number
    }
