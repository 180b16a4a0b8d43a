import type { After } from '../../contract/declared-effect.ts'
import type { FieldOf } from '../declared/fields.ts'
import type { EffectResponse } from '../declared/respond.ts'

/** What `contribution(...)` adds up, and into which table. */
export interface ContributionDeclaration<M> {
  /**
   * Append-only, one row per fact and one per reversal. If it is missing, the error at start contains its
   * CREATE TABLE statement.
   */
  readonly facts: string
  /** Counts and sums of the facts by key and window, written in the same transaction. */
  readonly summary: string
  /** `none`: a ledger, with entries and one balance per key. */
  readonly window: ContributionWindow | 'none'
  /**
   * The event time, for windows: milliseconds, a Date, or ISO text with its time zone. Never the time of
   * arrival.
   */
  readonly at?: FieldOf<M, number | string | Date>
  readonly key: FieldOf<M, unknown>
  /** The identity of the fact, independent of the message that carries it. */
  readonly eventId: FieldOf<M, unknown>
  /** Column of both tables → the amount that the fact adds. Decimals passed as text stay exact. */
  readonly values?: Readonly<Record<string, FieldOf<M, number | bigint | string>>>
  /** The event whose contribution this one reverses and replaces. */
  readonly corrects?: FieldOf<M, string | null | undefined>
  /** True for a correction that only reverses. */
  readonly withdraws?: FieldOf<M, boolean>
  /** Ledger only: columns whose balance must not fall below zero. */
  readonly notNegative?: readonly string[]
  /** The response to a fact that was not added. */
  readonly on?: Partial<Record<ContributionRefusal, EffectResponse>>
  /** For `retry`. Default 2 s. After `failure.attemptsMax` attempts the message is parked. */
  readonly retryDelayMs?: number
  /** Called for each fact that was added, in the same transaction: publish, call, write. */
  readonly after?: After<M, ContributionResult>
}

/** A fact that was added. */
export interface ContributionResult {
  readonly eventId: string
  readonly key: string
  /**
   * The starts of its windows, in milliseconds of Unix time. Empty in a ledger, and for a correction that
   * only withdraws.
   */
  readonly windowsMs: readonly number[]
  /** The event whose contribution was reversed; null when none was. */
  readonly reversed: string | null
}

/** Windows of event time. A fact is in one of them, or with `everyMs` in several. */
export interface ContributionWindow {
  readonly sizeMs: number
  /**
   * Hopping windows: one begins every so often, and a fact is in each that contains its time. `sizeMs` must
   * be a multiple of it, up to 1,000 times. Default `sizeMs`: tumbling windows.
   */
  readonly everyMs?: number
  /**
   * A window is closed for a key once the key has a fact this much later than the window's end. A fact is
   * late when the first of its windows is closed: it counts in all of them or in none.
   */
  readonly latenessMs: number
  /**
   * The response to a fact of a closed window: `stale` does not count it, `park` parks it, `accept` counts it
   * in its window.
   */
  readonly late: 'stale' | 'park' | 'accept'
  /** The start of the first window, in milliseconds of Unix time. Default 0: full hours and days of UTC. */
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

/** The codes recorded in held rows and attempts. */
export const refusalCodes: Readonly<Record<ContributionRefusal, string>> = {
  duplicate: 'duplicate_fact',
  conflict: 'fact_conflict',
  uncorrectable: 'corrected_fact_missing',
  alreadyCorrected: 'fact_already_corrected',
  negative: 'balance_negative',
}

export const lateCode = 'late_fact'

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
  'after',
]
