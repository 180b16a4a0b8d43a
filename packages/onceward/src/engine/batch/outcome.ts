import type { FailureClass } from '../../contract/failure-section.ts'
import type { Problem } from '../../message/received.ts'
import type { MarkerStatus } from '../../ports/store.ts'
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
  /** Kept in the store until its next try, or behind one that is. */
  | 'deferred'
  /** On its way round a delay level of the broker, as another delivery. */
  | 'rerouted'
  | 'parked'
  | 'dead-lettered'
  | 'quarantined'
  | 'halted'

export interface Failure {
  readonly class: FailureClass | 'unclassified' | 'contention'
  readonly code: string
  readonly error: string
  /** Where it was thrown; '' when nobody knows. */
  readonly place: string
}

/** What is known about a delivery when its outcome is decided. */
export type Fact =
  | { readonly kind: 'handled' }
  /** To be worked on later; nothing was tried yet. */
  | { readonly kind: 'kept' }
  | { readonly kind: 'unreadable'; readonly problem: Problem }
  /** An earlier delivery left a marker under this id. */
  | { readonly kind: 'seen'; readonly status: MarkerStatus; readonly sameDigest: boolean }
  /** Another message took this business key. */
  | { readonly kind: 'business seen'; readonly byId: string; readonly sameDigest: boolean }
  /** Another message holds this business key and is not done: it waits for that one's end. */
  | {
      readonly kind: 'key held'
      readonly byId: string
      readonly as: 'parked' | 'deferred' | 'retry'
      readonly delayMs: number
      /** Later messages of its order key wait behind it. */
      readonly inTurn: boolean
    }
  /** Campaigns: a person decided that it has no effect, and nobody decided otherwise. */
  | { readonly kind: 'given up'; readonly said: string }
  | { readonly kind: 'verdict'; readonly verdict: Verdict }
  | { readonly kind: 'failed'; readonly failure: Failure }
  /** Its process died over it too often: its handler did not run. */
  | { readonly kind: 'killed'; readonly attempts: number; readonly deaths: number }
  /** A message before it in the same lane, or the first of the same id, did not get through. */
  | { readonly kind: 'behind'; readonly leader: Leader; readonly delayMs: number }

/**
 * What became of the one before: to be tried again from here, kept until its next try, set aside with its
 * key, or out of the way.
 */
export type Leader = 'retry' | 'deferred' | 'parked' | 'gone'

/** The code of what people gave up. */
export const givenUpCode = 'given_up'

export interface Decision {
  readonly outcome: Outcome
  readonly reason: string
  /** What the marker becomes; null when it stays as it is or goes away. */
  readonly status: MarkerStatus | null
  readonly failureClass: string
  readonly code: string
  readonly error: string | null
  readonly place: string
  /** Only with `retry`, `deferred` and `rerouted`. */
  readonly retryDelayMs: number
  readonly attempts: number
  /** Only with `waiting`. */
  readonly waits: Waits | null
  /** Later messages of its key wait behind it. */
  readonly blocksKey: boolean
  /** It holds no order, although it is kept. */
  readonly outOfTurn: boolean
  /** It failed because the downstream is away: no attempt was counted. */
  readonly outage: boolean
}

/** The message is done, or kept where its turn will come without holding others up. */
const passes: ReadonlySet<Verdict['kind']> = new Set(['ignore', 'applied', 'duplicate', 'stale', 'wait'])

/** Where order counts, what comes after such a message in its lane must wait. */
export function stopsLane(fact: Fact): boolean {
  if (fact.kind === 'key held') return fact.inTurn
  return fact.kind === 'failed' || (fact.kind === 'verdict' && !passes.has(fact.verdict.kind))
}
