import type { LogRecord } from './log-record.ts'
import type { Position } from './source.ts'

/**
 * Reads the history of a log for campaigns. It joins no group, stores no offset and leaves nothing at the
 * broker. Cursors are those of the live source of the same log, so positions and identities are the same.
 * Here a cursor is a whole number, because the end of a range must be recognised.
 */
export interface RangeReader {
  /** Name of the topic, stream or path, as deliveries carry it. */
  readonly origin: string

  /**
   * Finds the ranges between two edges, as the log is now. Rejects with a `configuration` error when the log
   * does not have an edge.
   */
  survey(edges: Edges): Promise<readonly LogRange[]>

  /**
   * Reads one page from a position. The campaign calls it with `next` of the page before, until the range
   * ends, and drops records at or after that end. Records that the log no longer has are reported as a `lost`
   * page, never skipped. A rejection is retried, unless it is a `configuration` error.
   */
  read(partition: string, from: Position): Promise<Page>

  /**
   * Called once. Disconnects within a bounded time, also in the middle of a range. A second call does
   * nothing.
   */
  close(): Promise<void>

  /**
   * The positions that the live consumer has committed at the broker. Absent where the broker keeps none.
   * Partitions without a committed position are missing from the answer.
   */
  committed?(partitions: readonly string[]): Promise<ReadonlyMap<string, Position>>
}

/** One stretch of a log, as one read returns it. */
export type Page =
  /** The next records, in order. `next` may be past the last record. `behind`: records after it, if known. */
  | {
      readonly kind: 'records'
      readonly records: readonly LogRecord[]
      readonly next: string
      readonly atEnd: boolean
      readonly behind: number | null
      /** No record yet, and a later read will say whether the log ends here. */
      readonly mayEnd?: true
    }
  /** This incarnation of the log is read to its end; the log continues at `to`. */
  | { readonly kind: 'moved'; readonly to: Position }
  /** Records between the position and `to` are gone unread. */
  | {
      readonly kind: 'lost'
      readonly to: Position | null
      readonly records: number | null
      readonly reason: string
    }

/** One partition, from its first position up to and excluding its last. */
export interface LogRange {
  readonly partition: string
  readonly incarnation: string
  readonly from: string
  readonly to: string
}

export interface Edges {
  readonly start: Edge
  readonly end: Edge
}

/**
 * The first record of the log, the end of the log, the first record not older than a time, or a position per
 * partition (partitions without one are left out).
 */
export type Edge =
  | 'first'
  | 'next'
  | { readonly timestampMs: number }
  | { readonly offsets: Readonly<Record<string, number>> }
