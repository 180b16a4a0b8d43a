import type { BusinessKeySession } from './business-keys.ts'
import type { CampaignSession } from './campaign-session.ts'
import type { LogSession } from './checkpoint-store.ts'
import type { AttemptCount, AttemptRecord, Conclusion } from './conclusion.ts'
import type { EvidenceSession } from './evidence.ts'
import type { HandlerTransaction } from './handler-transaction.ts'
import type { HeldSession } from './held-work.ts'
import type { HistorySession } from './history.ts'
import type { KeyOrderSession } from './key-order.ts'
import type { MarkerAnswer, NewMarker } from './markers.ts'
import type { OutgoingSession } from './outgoing.ts'
import type { ReceiptSession } from './receipts.ts'
import type { SuspectSession } from './suspects.ts'

/**
 * The calls of one batch inside one transaction, in this order; most batches need only some of them:
 *
 * 1. insert: `log.positions`, `campaign.givenUp`, `insertMarkers`, `held.makeLive`,
 *    `history.givenUpElsewhere`, `businessKeys`, `parkedTotal`, `keyOrder`, `held.keysAtWork`,
 *    `history.horizon`;
 * 2. apply: handler transactions and savepoints, `outgoing`;
 * 3. conclude: `suspects.withdrawAttempts`, `countAttempts`, `parkedTotal`, calls of `held`,
 *    `outgoing.publish` for retry copies, `conclude`, `campaign.journal`;
 * 4. `log.advance`, the last.
 *
 * The members up to `parkedTotal` are required. A group is present when the store's capabilities, or the
 * store's group of the same feature, say so.
 */
export interface StoreSession<Tx> {
  /**
   * Inserts one marker per message in one statement, keys sorted, conflicts ignored, and reads the existing
   * ones back in a second statement. The ids are distinct. An id that another open transaction has inserted
   * waits, bounded, for the end of that transaction, so an answer is never a guess. Answers in the order of
   * the messages. `as`: the status of the new markers.
   */
  insertMarkers(claims: readonly NewMarker[], as?: 'applied' | 'stored'): Promise<readonly MarkerAnswer[]>

  /**
   * A handle on the transaction for one handler call, revoked when the call ends. `shared`: other calls have
   * a handle at the same time.
   */
  handlerTransaction(shared?: boolean): HandlerTransaction<Tx>

  /**
   * Adds one failed attempt for each id, durable if the transaction commits. Answers with the counts, these
   * included.
   */
  countAttempts(failures: readonly AttemptRecord[]): Promise<readonly AttemptCount[]>

  /**
   * Changes the markers this transaction inserted: removes those of messages to be retried, sets the status
   * of the others. Stores held messages. A store that copies messages to a dead-letter destination answers
   * with those it copied.
   */
  conclude(conclusions: readonly Conclusion[]): Promise<ReadonlySet<Conclusion> | void>

  /** How many messages of the consumer are parked. Only called when another is to be parked. */
  parkedTotal(): Promise<number>

  /** `capabilities.businessKeys`. */
  readonly businessKeys?: BusinessKeySession

  /** `capabilities.receipts`. */
  readonly receipts?: ReceiptSession

  /** `capabilities.keyOrder`. */
  readonly keyOrder?: KeyOrderSession

  /** `capabilities.outgoing`. */
  readonly outgoing?: OutgoingSession

  /** Stores with `checkpoints`. */
  readonly log?: LogSession

  /** Stores with `work`. */
  readonly held?: HeldSession

  /** Stores with `suspects`. */
  readonly suspects?: SuspectSession

  /** Stores with retention, or with several generations of a consumer. */
  readonly history?: HistorySession

  /** Stores that keep evidence beside the markers. */
  readonly evidence?: EvidenceSession

  /** Present in campaigns only. */
  readonly campaign?: CampaignSession

  /**
   * Stores that several processes share: called after the markers and before the handlers of a batch, when
   * they write one by one. Keeps such batches of other processes from a deadlock over the same rows.
   */
  lockWrites?(messages: number): Promise<void>

  /**
   * Stores with `capabilities.concurrent` that can undo part of a transaction: marks the current place. Not
   * awaited: later statements come after it.
   */
  savepoint?(): Savepoint
}

export interface Savepoint {
  /** Undoes every statement sent since, failed ones included. */
  undo(): Promise<void>
  keep(): void
}
