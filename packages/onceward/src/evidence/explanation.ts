import type { Consumer } from '../contract/define-consumer.ts'

/** What is asked about. */
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
  /** Its contract knows the tables its effects are in, and the ids it publishes under. */
  readonly contract?: Pick<Consumer, 'name' | 'effect' | 'reconcile'> | undefined
  /** Bodies and column values are part of the answer. Default false. */
  readonly payload?: boolean | undefined
}

/** One thing that happened, as the database has it. */
export interface TimelineEntry {
  readonly at: Date | null
  readonly what: string
  /** The process or the person. */
  readonly by: string | null
  readonly text: string
  readonly facts: Readonly<Record<string, unknown>>
}

/**
 * One of the questions an auditor asks. `answer` is null where nothing was kept; `from` says where it is
 * from, or why it is not.
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

/** A consumer that has no trace of what was asked about, and what that means. */
export interface Absence {
  readonly consumer: string
  readonly generation: number
  readonly verdict: 'never arrived' | 'purged' | 'purged or never arrived' | 'cannot be told'
  readonly text: string
  readonly facts: Readonly<Record<string, unknown>>
}

export interface Explanation {
  readonly question: ExplainQuestion
  /** The name the asked id is kept under, where it is not the id itself. */
  readonly storedAs: string | null
  readonly stories: readonly Story[]
  readonly absences: readonly Absence[]
  /** What was not looked for, or not found out, and how to. */
  readonly limits: readonly string[]
}

/** One message at one consumer, before anything is known of it. */
export interface Subject {
  readonly consumerId: number
  readonly consumer: string
  readonly generation: number
  readonly dedup: string
  readonly messageId: string
}

/** An entry before the run it belongs to was looked up. */
export interface Event {
  readonly at: Date | null
  readonly what: string
  readonly text: string
  readonly by?: string | null
  readonly runId?: number | null
  readonly facts?: Readonly<Record<string, unknown>>
}
