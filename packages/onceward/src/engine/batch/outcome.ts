import type { FailureClass } from '../../contract/failure-section.ts'
import type { Problem } from '../../message/received.ts'
import type { MarkerStatus } from '../../ports/markers.ts'
import type { Verdict, Waits } from './verdicts.ts'

/** The one decision made for a delivery. */
export type Outcome =
  | 'applied'
  | 'duplicate'
  | 'ignored'
  | 'stale'
  | 'stored'
  | 'waiting'
  | 'already held'
  | 'retry'
  /** In the store until its next attempt, or behind a message that is. */
  | 'deferred'
  /** On its way through a retry queue or topic of the broker; it returns as another delivery. */
  | 'rerouted'
  | 'parked'
  | 'dead-lettered'
  | 'quarantined'
  | 'halted'

export interface Failure {
  readonly class: FailureClass | 'unclassified' | 'contention'
  readonly code: string
  readonly error: string
  /** The class of the thrown value; missing if nothing was thrown. */
  readonly exception?: string
  /** Where it was thrown; '' if unknown. */
  readonly place: string
  /**
   * A failure of the database as a whole: no attempt is counted, and nothing is set aside for it. `unless
   * others pass`: a message that fails so while others are applied may be the cause.
   */
  readonly databaseWide?: 'always' | 'unless others pass' | undefined
}

/** What is known about a delivery when its outcome is decided. */
export type Fact =
  | { readonly kind: 'handled' }
  /** To be applied later by a worker; not tried yet. */
  | { readonly kind: 'kept' }
  | { readonly kind: 'unreadable'; readonly problem: Problem }
  /** An earlier delivery left a marker under this id. */
  | { readonly kind: 'seen'; readonly status: MarkerStatus; readonly sameDigest: boolean }
  /** Another message used this business key. */
  | { readonly kind: 'business seen'; readonly byId: string; readonly sameDigest: boolean }
  /** Another, unfinished message holds this business key: the message waits for its end. */
  | {
      readonly kind: 'key held'
      readonly byId: string
      readonly as: 'parked' | 'deferred' | 'retry'
      readonly delayMs: number
      /** Later messages of its order key wait behind it. */
      readonly inTurn: boolean
    }
  /** In campaigns: an operator decided that the message has no effect, and no later decision overrides it. */
  | { readonly kind: 'given up'; readonly reason: string }
  | { readonly kind: 'verdict'; readonly verdict: Verdict }
  | { readonly kind: 'failed'; readonly failure: Failure }
  /** Its process crashed on it too often: its handler did not run. */
  | { readonly kind: 'killed'; readonly attempts: number; readonly deaths: number }
  /** The broker delivered it too often. It waits `delayMs`; null: it is not tried. */
  | { readonly kind: 'redelivered'; readonly count: number; readonly delayMs: number | null }
  /** Its event type is paused: its handler did not run. */
  | { readonly kind: 'braked'; readonly cause: string; readonly delayMs: number }
  /** An earlier message of its lane, or the first one of its id, did not succeed. */
  | { readonly kind: 'behind'; readonly leader: Leader; readonly delayMs: number }

/**
 * The state of the earlier message: retried from memory, deferred in the store, parked, or no longer in the
 * way.
 */
export type Leader = 'retry' | 'deferred' | 'parked' | 'gone'

/** The class of a message whose handler asked for another try, without attempts left. */
export const exhaustedVerdict = 'retry'

/** The code of messages that were not tried because their event type is paused. */
export const brakedCode = 'braked'

/** The code of messages that wait for their business key. */
export const behindBusinessKey = 'behind_business_key'

/** The code of messages that the broker delivered too often. */
export const redeliveredCode = 'delivery_count'

/** The code of messages that an operator gave up. */
export const givenUpCode = 'given_up'

/** The outcome of one message, and why. */
export interface Decision {
  readonly outcome: Outcome
  readonly reason: string
  /** The new status of the marker; null if it is unchanged or removed. */
  readonly status: MarkerStatus | null
  readonly failureClass: string
  readonly code: string
  readonly error: string | null
  readonly exception?: string | undefined
  readonly place: string
  /** Only with `retry`, `deferred` and `rerouted`. */
  readonly retryDelayMs: number
  readonly attempts: number
  /** The class whose attempts ran out and thereby ended the message; null if none did. */
  readonly exhausted: string | null
  /** Only with `waiting`. */
  readonly waits: Waits | null
  /** Later messages of its key wait behind it. */
  readonly blocksKey: boolean
  /** It is stored without a place in its key's order. */
  readonly outOfTurn: boolean
  /** It failed because of a dependency: no attempt was counted. */
  readonly outage: boolean
  /** It failed and waits because its event type is paused. */
  readonly braked: boolean
}

/** The effects that its handler requested are due. */
export function isApplied(fact: Fact | undefined): boolean {
  return fact?.kind === 'handled' || (fact?.kind === 'verdict' && fact.verdict.kind === 'applied')
}

/** The message is finished, or stored without blocking others. */
const passes: ReadonlySet<Verdict['kind']> = new Set(['ignore', 'applied', 'duplicate', 'stale', 'wait'])

/** With order, later messages of the lane must wait behind such a message. */
export function stopsLane(fact: Fact): boolean {
  if (fact.kind === 'key held') return fact.inTurn
  return (
    fact.kind === 'failed' ||
    fact.kind === 'braked' ||
    fact.kind === 'redelivered' ||
    (fact.kind === 'verdict' && !passes.has(fact.verdict.kind))
  )
}
