import type { After } from '../../contract/declared-effect.ts'
import type { BatchItem, SqlTransaction } from '../../contract/handler.ts'
import type { Log } from '../../environment.ts'

/**
 * A function of the message, the name of one of its fields, a header, or a property of the log record. A
 * tombstone has only headers and record properties.
 */
export type ReadFrom<M> = string | ((message: M) => unknown) | RecordField

/**
 * `offset` is the offset in Kafka or a stream. It grows with each record of a key while the topic keeps its
 * partitions and is not recreated.
 */
export type RecordField = { readonly header: string } | { readonly record: 'key' | 'offset' }

/**
 * A table that follows the newest fact of each key. Every fact carries the whole state of the declared
 * columns, so the row depends on the newest fact alone, not on earlier ones or on repetitions.
 */
export interface ProjectionOptions<M = unknown> {
  /** `table` or `schema.table`, spelled as in the catalogue. */
  table: string
  /** Written instead of `table` in mode `rebuild`. */
  rebuildTable?: string
  /**
   * Column → source of its value. Text, uuid or integer columns with a unique index over exactly these
   * columns.
   */
  key: Record<string, ReadFrom<M>>
  /** One integer column → the version of the fact. Versions only increase; clocks are not used. */
  version: Record<string, ReadFrom<M>>
  /** Column → value. A value that the message does not carry becomes null. */
  columns?: Record<string, ReadFrom<M>>
  /** Instead of `columns`: called once per key whose version moved, in the same transaction. */
  handle?: ProjectionHandler<M>
  /**
   * Facts that delete. The row stays as a tombstone with `column` true, so no older fact can restore it.
   * `tombstone`: records without a body delete. Their key and version are read from the record, and the
   * declared columns become null.
   */
  delete?: { column: string; when: ((message: M) => boolean) | 'tombstone' }
  /**
   * The older version that the message corrects; null or undefined when it corrects none. The correction is a
   * new fact with its own version.
   */
  corrects?: (message: M) => string | number | bigint | null | undefined
  /**
   * A `bytea` column for the digest of the declared columns. With it, the same version with other content is
   * a conflict; without it, a duplicate.
   */
  digest?: string
  /**
   * Fills the columns `caused_by` (text) and `caused_by_run` (integer) with the message and run of the row,
   * for `onceward explain --row`. Default false.
   */
  cause?: boolean
  /** The version of a key's first fact. Default 1. */
  firstVersion?: number
  gap: GapPolicy<M>
  /** Called for each fact that was applied, in the same transaction: publish, call, write. */
  after?: After<M, ProjectionResult>
}

/** A fact that was applied. */
export interface ProjectionResult {
  readonly key: Readonly<Record<string, string>>
  /** The version before it; null when the key had none. */
  readonly from: bigint | null
  readonly version: bigint
  readonly deletes: boolean
  /** The row has this version now. False for the older facts of a key in the same batch. */
  readonly newest: boolean
  /** What was special about it, such as `gap`, `resurrected` or `repaired`. */
  readonly notes: readonly ResultCode[]
}

/**
 * The handling of a fact when earlier versions have not been seen:
 *
 * | policy          | the fact                                                                              |
 * | --------------- | ------------------------------------------------------------------------------------- |
 * | `skips allowed` | is applied: versions increase, not by one, and no gap exists                          |
 * | `accept latest` | is applied, with a note                                                               |
 * | `wait`          | is stored until the missing ones arrive, or the deadline or a cap is reached          |
 * | `repair`        | is applied on top of the answer of the source of truth                                |
 * | `fail fast`     | is quarantined; its key is blocked until an operator releases it                      |
 * | `rebuild`       | is not applied: `onceward.rebuild_key` records its key and the version to reach       |
 */
export type GapPolicy<M = unknown> =
  | 'skips allowed'
  | 'accept latest'
  | 'fail fast'
  | 'rebuild'
  | ({ policy: 'repair' } & Repair<M>)
  | WaitPolicy<M>

/** The action for a fact that cannot wait any longer. */
export type GapAction = 'accept' | 'park' | 'repair' | 'halt key'

export interface WaitPolicy<M = unknown> {
  policy: 'wait'
  deadlineMs: number
  atDeadline: GapAction
  /** Maximum number of waiting facts: of one key, and of all keys together. */
  keyMax: number
  totalMax: number
  whenFull: GapAction
  /** For the action `repair`. */
  repair?: Repair<M>
}

/** How a projection asks the source of truth for the newest fact of a key. */
export interface Repair<M = unknown> {
  /**
   * Asks the source of truth for the newest fact of the key, as a message. Null when it has none. Called
   * inside the batch's transaction.
   */
  fetch: (gap: Gap<M>) => Promise<M | null>
  /**
   * Default 2 s. The time-out of an answer. After it, or after an error, the message is retried as `failure`
   * declares.
   */
  timeoutMs?: number
  /** Default 1 s. The delay before the next request. */
  retryMs?: number
}

/** A version that a projection has not seen, between two that it has. */
export interface Gap<M = unknown> {
  readonly key: Readonly<Record<string, string>>
  /** The version of the row; null when there is none. */
  readonly found: bigint | null
  /** The lowest version after the gap, and its message. */
  readonly version: bigint
  readonly message: M
  readonly signal: AbortSignal
}

/** A key of a projection that a batch has moved, with its facts. */
export interface ProjectedKey<M = unknown> {
  readonly key: Readonly<Record<string, string>>
  /** The facts that moved the version, oldest first. */
  readonly facts: readonly ProjectedFact<M>[]
  readonly tx: SqlTransaction
  readonly signal: AbortSignal
  readonly log: Log
}

/** One fact that moved the version of a key. */
export interface ProjectedFact<M = unknown> {
  readonly version: bigint
  /** Null where `delete.when` is `tombstone` and this is one. */
  readonly message: M
  /** Null for a fact from a repair. */
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
  'after',
]
export const gapWords = ['skips allowed', 'accept latest', 'fail fast', 'rebuild']
export const gapActions: readonly GapAction[] = ['accept', 'park', 'repair', 'halt key']
export const repairNames = ['fetch', 'timeoutMs', 'retryMs']
export const waitNames = ['policy', 'deadlineMs', 'atDeadline', 'keyMax', 'totalMax', 'whenFull', 'repair']

/** The codes that a projection may give a message. */
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
