import type { RepeatPolicy, TargetTraits } from '../../../contract/external-target.ts'
import type { Log } from '../../../environment.ts'
import type { Answer } from '../answer.ts'

/** An external target with its defaults applied. Immutable. Secrets exist only in the closure of `send`. */
export interface ExternalCaller {
  readonly name: string
  readonly policy: RepeatPolicy
  readonly query: TargetTraits['query'] | null
  readonly queryDelayMs: number
  /**
   * How long after the first call that may have taken effect a repeat is allowed: half of the key's lifetime
   * at the target.
   */
  readonly doubtMaxMs: number
  readonly timeoutMs: number
  /** How long a dispatcher holds a row: the whole call and a margin to record its result. */
  readonly leaseMs: number
  readonly attemptsMax: number
  readonly delayMs: number
  readonly delayMaxMs: number
  readonly concurrencyMax: number
  readonly ratePerSecondMax: number
  readonly breaker: { readonly failuresMax: number; readonly pauseMs: number } | null
  /** One attempt. Never throws; ends when the signal is aborted. */
  readonly send: Send
}

/** The request, identical at every attempt except for the attempt number. */
export interface Outbound {
  readonly key: string
  readonly body: Buffer
  readonly contentType: string
  readonly requestDigest: Buffer
  /** When the intent was recorded; null for inline calls. */
  readonly createdAt: Date | null
  /** The consumer's name when the intent was recorded, if the consumer was renamed since. */
  readonly originalName?: string | null
  /** When this attempt was leased, by the database clock; null for inline calls. */
  readonly leasedAtMs: number | null
  /** Including this one. */
  readonly attempts: number
}

export interface SendContext {
  readonly signal: AbortSignal
  /** True past the deadline, even if the signal is not aborted yet, as after a frozen process. */
  readonly expired: () => boolean
  readonly log: Log
}

export type Send = (request: Outbound, context: SendContext) => Promise<Answer>
