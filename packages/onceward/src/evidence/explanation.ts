import type { Consumer } from '../contract/define-consumer.ts'

/** The question. */
export type ExplainQuestion =
  | { readonly by: 'message'; readonly id: string }
  | { readonly by: 'business key'; readonly key: string }
  | { readonly by: 'aggregate'; readonly id: string; readonly version: string | null }
  | { readonly by: 'effect'; readonly key: string; readonly target: string | null }
  /** `key`: the value of a primary key of one column, or a value for each column of a key. */
  | { readonly by: 'row'; readonly table: string; readonly key: string | Readonly<Record<string, string>> }

export interface ExplainOptions {
  /** Only this consumer, all of its generations. */
  readonly consumer?: string | undefined
  /** The contract names the tables of its effects and the ids it publishes under. */
  readonly contract?: Pick<Consumer, 'name' | 'effect' | 'reconcile'> | undefined
  /** Bodies and column values are part of the answer. Default false. */
  readonly payload?: boolean | undefined
}

/** One recorded event. */
export interface TimelineEntry {
  readonly at: Date | null
  readonly what: string
  /** The process or the person. */
  readonly by: string | null
  readonly text: string
  readonly facts: Readonly<Record<string, unknown>>
}

/**
 * One question of an auditor. `answer` is null when nothing was recorded. `from` is the origin of the answer,
 * or the reason for its absence.
 */
export interface AuditAnswer {
  readonly asked: string
  readonly answer: string | null
  readonly from: string
}

/** One message at one consumer. */
export interface Story {
  readonly consumer: string
  readonly generation: number
  readonly messageId: string
  readonly summary: string
  readonly answers: readonly AuditAnswer[]
  readonly timeline: readonly TimelineEntry[]
}

/** A consumer without a trace of the subject, and what that means. */
export interface Absence {
  readonly consumer: string
  readonly generation: number
  readonly verdict: 'never arrived' | 'purged' | 'purged or never arrived' | 'cannot be determined'
  readonly text: string
  readonly facts: Readonly<Record<string, unknown>>
}

/** Why a row exists: messages, decisions, attempts and effects behind it. */
export interface Explanation {
  readonly question: ExplainQuestion
  /** The stored id, when it differs from the given one. */
  readonly storedAs: string | null
  readonly stories: readonly Story[]
  readonly absences: readonly Absence[]
  /** What was not searched or not found, and how to search for it. */
  readonly limits: readonly string[]
}

/** One message at one consumer, before its traces are read. */
export interface Subject {
  readonly consumerId: number
  readonly consumer: string
  readonly generation: number
  readonly dedup: string
  readonly messageId: string
}

/** An entry before its run is looked up. */
export interface Event {
  readonly at: Date | null
  readonly what: string
  readonly text: string
  readonly by?: string | null
  readonly runId?: number | null
  readonly facts?: Readonly<Record<string, unknown>>
}
