import type { Position } from '../../ports/source.ts'
import type { Page } from './pull-source.ts'

/**
 * History of a log, read without telling anybody: no group, no stored offset, nothing left behind at the
 * broker. Cursors are those of the live source of the same log, so that positions and identities are the
 * same; here they are whole numbers, because an end must be recognised.
 */
export interface RangeReader {
  readonly origin: string
  /**
   * Finds out what lies between two edges, as it is now. Rejects with a `configuration` error when an edge is
   * not in the log.
   */
  survey(edges: Edges): Promise<readonly LogRange[]>
  /** Reads on from a place in a range. Rejections are tried again, but for `configuration` errors. */
  read(partition: string, from: Position): Promise<Page>
  /**
   * How far the live consumer has told the broker that it is done, where the broker keeps that. Partitions it
   * has told nothing of are left out.
   */
  told?(partitions: readonly string[]): Promise<ReadonlyMap<string, Position>>
  close(): Promise<void>
}

/** One partition from its first to before its last place. */
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
 * The first record there is, what comes next, the first record not older than a time, or a place per
 * partition (others are left out).
 */
export type Edge =
  | 'first'
  | 'next'
  | { readonly timestampMs: number }
  | { readonly offsets: Readonly<Record<string, number>> }
