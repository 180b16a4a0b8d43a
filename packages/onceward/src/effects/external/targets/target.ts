import type { RepeatPolicy, TargetTraits } from '../../../contract/external-target.ts'
import type { Log } from '../../../environment.ts'
import type { Answer } from '../answer.ts'

/**
 * An external target with its defaults applied; made once, never changed. Secrets live in the closure of
 * `send`, nowhere else.
 */
export interface ExternalCaller {
  readonly name: string
  readonly policy: RepeatPolicy
  readonly query: TargetTraits['query'] | null
  readonly queryDelayMs: number
  /**
   * How long after the first call that may have taken effect it may be repeated: half of what the target
   * remembers.
   */
  readonly doubtMaxMs: number
  readonly timeoutMs: number
  /** How long a claimed row belongs to its dispatcher: the whole call and a margin to record it. */
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

/** What is sent: the same at every attempt, except for the number. */
export interface Outbound {
  readonly key: string
  readonly body: Buffer
  readonly contentType: string
  readonly requestDigest: Buffer
  /** Of the intent; null for calls in line. */
  readonly createdAt: Date | null
  /** The consumer's name when it was asked for, where it was renamed since. */
  readonly askedAs?: string | null
  /** When this attempt was claimed, by the database's clock; null for calls in line. */
  readonly leasedAtMs: number | null
  /** Including this one. */
  readonly attempts: number
}

export interface SendContext {
  readonly signal: AbortSignal
  /**
   * True past the deadline, even before the signal could be aborted: asked by a process that may have been
   * frozen.
   */
  readonly expired: () => boolean
  readonly log: Log
}

export type Send = (request: Outbound, context: SendContext) => Promise<Answer>
