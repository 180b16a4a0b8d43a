import type { HeldFacts } from './source.ts'

/** The business key of held work. */
export interface HeldKey {
  readonly businessKey: string | null
  /** Written with the key whenever this message gets the key; null when none is declared or read. */
  readonly businessDigest: Buffer | null
  /** It does not hold its key: the worker that leases it asks for the key first. */
  readonly keyless: boolean
}

export const heldStates = ['stored', 'waiting', 'parked', 'dead', 'quarantined'] as const
export type HeldState = (typeof heldStates)[number]

/**
 * What a message is, read from it once and kept beside its bytes. Null: it has none, or could not be read.
 */
export interface HeldIdentities {
  readonly messageType: string | null
  readonly schemaVersion: string | null
  readonly producer: string | null
  readonly correlationId: string | null
  readonly aggregateId: string | null
  readonly aggregateVersion: string | null
}

export interface HeldRecord extends HeldKey, HeldIdentities {
  readonly state: HeldState
  /**
   * The row it had until now, which is its place in the order of its key, and the lease that ends with this.
   * Its epoch stays, so that no later lease equals an earlier one. Null when it was not held.
   */
  readonly was: Pick<HeldFacts, 'row' | 'epoch' | 'firstAt' | 'cameFrom'> | null
  readonly reason: string
  readonly failureClass: string
  readonly code: string
  readonly error: string | null
  /** The class of the thrown value, for dead-letter copies. */
  readonly exception?: string | null
  readonly place: string
  /** The order key: later messages of it wait behind this one while it is parked. Null when unordered. */
  readonly orderKey: string | null
  /** Its version among those that wait under the key; only with `waiting`. */
  readonly version: bigint | null
  /** The delay until a worker may lease it; null when only operators release it. */
  readonly dueInMs: number | null
  readonly attempts: number
  /** The dead-letter queue of the contract, if it names one, gets a copy. */
  readonly copied: boolean
  readonly body: Buffer
  readonly headers: string
  readonly properties: string
  readonly origin: string
  readonly position: string | null
  readonly brokerKey: string | null
  readonly deliveryCount: number
}
