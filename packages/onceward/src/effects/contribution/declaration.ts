import type { FieldOf } from '../declared/fields.ts'
import type { EffectResponse } from '../declared/respond.ts'

export interface ContributionDeclaration<M> {
  /** Append-only, one row per fact and one per reversal. The error at start says how to make it. */
  readonly facts: string
  /** Counts and sums of the facts by key and window, written in the same transaction. */
  readonly summary: string
  /** `none` makes it a ledger: entries and one balance per key. */
  readonly window: ContributionWindow | 'none'
  /**
   * When it happened, for windows: milliseconds, a Date, or ISO text with its time zone. Never when it
   * arrived.
   */
  readonly at?: FieldOf<M, number | string | Date>
  readonly key: FieldOf<M, unknown>
  /** The identity of the fact, whichever message carries it. */
  readonly eventId: FieldOf<M, unknown>
  /** Column of both tables → what the fact adds to it. Decimals as text lose nothing. */
  readonly values?: Readonly<Record<string, FieldOf<M, number | bigint | string>>>
  /** The event whose contribution this one takes back, by a reversing entry; its own comes in its place. */
  readonly corrects?: FieldOf<M, string | null | undefined>
  /** A correction that only takes back. */
  readonly withdraws?: FieldOf<M, boolean>
  /** Ledger only: columns whose balance must not fall below zero. */
  readonly notNegative?: readonly string[]
  /** What becomes of a fact that was not added. */
  readonly on?: Partial<Record<ContributionRefusal, EffectResponse>>
  /** For `retry`. Default 2 s. Attempts are counted by `failure.attemptsMax`, then the message is parked. */
  readonly retryDelayMs?: number
}

/** Tumbling windows of event time: each fact is in exactly one. */
export interface ContributionWindow {
  readonly sizeMs: number
  /** A window is closed for a key once the key has seen a fact this much later than the window's end. */
  readonly latenessMs: number
  /**
   * A fact of a closed window: marked `stale` and not counted, set aside with `park`, or counted in its
   * window with `accept`.
   */
  readonly late: 'stale' | 'park' | 'accept'
  /**
   * Where windows begin to be counted from, in milliseconds of Unix time. Default 0: full hours and days of
   * UTC.
   */
  readonly originMs?: number
}

export type ContributionRefusal = 'duplicate' | 'conflict' | 'uncorrectable' | 'alreadyCorrected' | 'negative'

export const defaultResponses: Readonly<Record<ContributionRefusal, EffectResponse>> = {
  duplicate: 'duplicate',
  conflict: 'quarantine',
  uncorrectable: 'retry',
  alreadyCorrected: 'quarantine',
  negative: 'park',
}

/** The words that stand in held rows and attempts. */
export const refusalCodes: Readonly<Record<ContributionRefusal, string>> = {
  duplicate: 'duplicate_fact',
  conflict: 'fact_conflict',
  uncorrectable: 'corrected_fact_missing',
  alreadyCorrected: 'fact_already_corrected',
  negative: 'balance_negative',
}

export const knownFields = [
  'facts',
  'summary',
  'window',
  'at',
  'key',
  'eventId',
  'values',
  'corrects',
  'withdraws',
  'notNegative',
  'on',
  'retryDelayMs',
]
