import type { BatchItem, SqlTransaction } from '../../contract/handler.ts'
import type { Log } from '../../environment.ts'

/**
 * A function of the message, the name of one of its fields, a header, or what the log says of the record: all
 * a tombstone has.
 */
export type ReadFrom<M> = string | ((message: M) => unknown) | RecordField

/**
 * `offset` is that of Kafka or a stream: it grows with each record of a key for as long as the topic keeps
 * its partitions and its life.
 */
export type RecordField = { readonly header: string } | { readonly record: 'key' | 'offset' }

/**
 * A table that follows the newest fact of each key. Every fact carries the whole state of the declared
 * columns, so that the row depends on the newest one alone, whatever arrived before it and how often.
 */
export interface ProjectionOptions<M = unknown> {
  /** `table` or `schema.table`, as they are spelled in the catalogue. */
  table: string
  /** Written in place of `table` in mode `rebuild`. */
  rebuildTable?: string
  /**
   * Column → where its value is read from. Text, uuid or integer columns with a unique index over exactly
   * them.
   */
  key: Record<string, ReadFrom<M>>
  /** One integer column → the version of the fact. It only moves forward; clocks decide nothing. */
  version: Record<string, ReadFrom<M>>
  /** Column → value. What a message does not carry becomes null. */
  columns?: Record<string, ReadFrom<M>>
  /** In place of `columns`: called once per key whose version moved, in the same transaction. */
  handle?: ProjectionHandler<M>
  /**
   * Facts that delete. The row stays as a tombstone with `column` true, so that no older fact can bring it
   * back. `tombstone`: records without a body do. Their key and version are read from the record, and the
   * declared columns become null.
   */
  delete?: { column: string; when: ((message: M) => boolean) | 'tombstone' }
  /**
   * What the message corrects, as an older version; null or undefined when it corrects nothing. The
   * correction is a new fact with its own version.
   */
  corrects?: (message: M) => string | number | bigint | null | undefined
  /**
   * A `bytea` column for the digest of the declared columns: the same version with other content is then a
   * conflict, else a duplicate.
   */
  digest?: string
  /**
   * Columns `caused_by` (text) and `caused_by_run` (integer) say which message a row is from, for
   * `onceward explain --row`. Default false.
   */
  cause?: boolean
  /** The version of a key's first fact. Default 1. */
  firstVersion?: number
  gap: GapPolicy<M>
}

/**
 * What happens to a fact when versions before it have not been seen:
 *
 * | policy          | the fact                                                                              |
 * | --------------- | ------------------------------------------------------------------------------------- |
 * | `skips allowed` | is applied: versions grow, but not by one, and nothing is a gap                       |
 * | `accept latest` | is applied, with a note                                                               |
 * | `wait`          | is kept durably until the missing ones came, or the deadline or a cap is reached      |
 * | `repair`        | is applied on top of what the source of truth answers                                 |
 * | `fail fast`     | is quarantined; its key stands still until a person releases it                       |
 * | `rebuild`       | is not applied: its key is noted in `onceward.rebuild_key`, with the version to reach |
 */
export type GapPolicy<M = unknown> =
  | 'skips allowed'
  | 'accept latest'
  | 'fail fast'
  | 'rebuild'
  | ({ policy: 'repair' } & Repair<M>)
  | WaitPolicy<M>

/** What is done with a fact that cannot wait any longer. */
export type GapAction = 'accept' | 'park' | 'repair' | 'halt key'

export interface WaitPolicy<M = unknown> {
  policy: 'wait'
  deadlineMs: number
  atDeadline: GapAction
  /** Facts that wait at most: of one key, and of all keys together. */
  keyMax: number
  totalMax: number
  whenFull: GapAction
  /** For the action `repair`. */
  repair?: Repair<M>
}

export interface Repair<M = unknown> {
  /**
   * Asks the source of truth for the newest fact of the key, as a message. Null when it does not know. Called
   * inside the batch's transaction.
   */
  fetch: (gap: Gap<M>) => Promise<M | null>
  /**
   * Default 2 s. Longest wait for an answer; past it, or after an error, the message is tried again as
   * `failure` says.
   */
  timeoutMs?: number
  /** Default 1 s, until it is asked again. */
  retryMs?: number
}

export interface Gap<M = unknown> {
  readonly key: Readonly<Record<string, string>>
  /** The version of the row; null when there is none. */
  readonly found: bigint | null
  /** The lowest version beyond the hole, and its message. */
  readonly version: bigint
  readonly message: M
  readonly signal: AbortSignal
}

export interface ProjectedKey<M = unknown> {
  readonly key: Readonly<Record<string, string>>
  /** The facts that moved the version, oldest first. */
  readonly facts: readonly ProjectedFact<M>[]
  readonly tx: SqlTransaction
  readonly signal: AbortSignal
  readonly log: Log
}

export interface ProjectedFact<M = unknown> {
  readonly version: bigint
  /** Null where `delete.when` is `tombstone` and this is one. */
  readonly message: M
  /** Null for a fact that a repair brought. */
  readonly item: BatchItem<M> | null
  readonly deletes: boolean
}

export type ProjectionHandler<M = unknown> = (moved: ProjectedKey<M>) => Promise<void>

export const optionNames = [
  'table',
  'rebuildTable',
  'key',
  'version',
  'columns',
  'handle',
  'delete',
  'corrects',
  'digest',
  'cause',
  'firstVersion',
  'gap',
]
export const gapWords = ['skips allowed', 'accept latest', 'fail fast', 'rebuild']
export const gapActions: readonly GapAction[] = ['accept', 'park', 'repair', 'halt key']
export const repairNames = ['fetch', 'timeoutMs', 'retryMs']
export const waitNames = ['policy', 'deadlineMs', 'atDeadline', 'keyMax', 'totalMax', 'whenFull', 'repair']

/** What a projection may say of a message. */
export const resultCodes = [
  'stale',
  'duplicate',
  'gap',
  'deleted',
  'resurrected',
  'correction',
  'repaired',
  'rebuild',
  'version_conflict',
  'row_without_version',
  'key_malformed',
  'version_malformed',
  'column_unreadable',
] as const
export type ResultCode = (typeof resultCodes)[number]
