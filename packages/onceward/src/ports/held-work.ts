import type { HeldFacts } from './source.ts'
import type { Enrolment, HeldKey, SuppressedEffect } from './store.ts'

/** How the instance of a worker's run ends: by this it is told from the run of a reader. */
export const workerSuffix = ' worker'

/** One claimed row. */
export type WorkLease = Pick<HeldFacts, 'row' | 'epoch'>

export interface LostLease extends WorkLease {
  /** Another worker has it; false when the row is gone. */
  readonly taken: boolean
}

/**
 * The durable keyed queue, seen from the workers: each call is a short transaction of its own, on the
 * database's clock.
 */
export interface WorkQueue {
  /** Takes due rows nobody holds, at most `countMax`, for `leaseMs`; raises the epoch of each. */
  lease(enrolment: Enrolment, request: WorkRequest): Promise<LeasedWork>
  /**
   * Called while work goes on. Answers with the rows that are not ours any more: taken by another, or
   * finished by somebody.
   */
  extend(claims: readonly WorkLease[], leaseMs: number): Promise<readonly LostLease[]>
  /** Ends the claims that are still ours, so that others need not wait for the lease. */
  giveBack(claims: readonly WorkLease[]): Promise<void>
}

export interface WorkRequest {
  readonly countMax: number
  readonly leaseMs: number
  /** A key's rows are taken in order, and by one holder at a time. */
  readonly ordered: boolean
  /** Where the last look ended; null looks from the start. */
  readonly after: string | null
}

export interface LeasedWork {
  readonly rows: readonly WorkRow[]
  /** Rows among them whose last holder let the lease run out. */
  readonly expired: number
  /** Where to look on, if there may be more; null when the end was reached. */
  readonly next: string | null
}

export interface WorkRow extends HeldFacts {
  readonly body: Buffer
  /** JSON text; null for `{}`. */
  readonly headers: string | null
  readonly properties: string | null
  readonly origin: string
  readonly position: string | null
  readonly brokerKey: string | null
  readonly deliveryCount: number
}

/** What a batch does to held work, inside its transaction. */
export interface HeldSession {
  /**
   * Stores messages to be worked on later, in the order given, due at once. Their markers say `stored`
   * already. With a holder they are claimed for it as they are written, except those of keys with unfinished
   * work that is not the holder's. Answers in the order of the messages.
   */
  keep(messages: readonly KeptMessage[], holder: WorkHolder | null): Promise<readonly (WorkLease | null)[]>

  /**
   * Of these order keys, those with work that is stored and not done: whoever applies deliveries beside
   * workers lets it go first. With how long it is until the last of it is due, as far as anybody knows; 0
   * when it is due now.
   */
  keysAtWork(keys: readonly string[]): Promise<ReadonlyMap<string, number>>

  /**
   * The first statement of a worker's transaction. Rejects with `lease_lost` (details: `rows`) when any row
   * is not ours any more. Of the keys given, answers with those that have unfinished work before the row, and
   * what it is.
   */
  takeUp(work: readonly TakenWork[]): Promise<ReadonlyMap<string, 'stored' | 'parked'>>

  /**
   * The fence of a worker. Removes the rows that are done and moves their markers, puts off those to be tried
   * again. What waits for the business key of an effect that happened becomes due. Rejects with `lease_lost`
   * (details: `rows`) when any is not ours any more, having written nothing that could commit.
   */
  finish(done: readonly DoneWork[], again: readonly PutOffWork[]): Promise<void>

  /**
   * Live deliveries of these came, and campaigns or replays hold them: what is held is live work from now on,
   * and claims of it are lost.
   */
  makeLive(ids: readonly string[]): Promise<void>

  /** What handlers asked for outside the database while a worker took up what this campaign had held. */
  noteSuppressed(campaignId: string, effects: readonly SuppressedEffect[]): Promise<void>
}

/** A worker of this process that has room for what is being stored. */
export interface WorkHolder {
  readonly runId: number
  readonly leaseMs: number
  /** A key's rows are taken in order, and by one holder at a time. */
  readonly ordered: boolean
}

export interface KeptMessage extends HeldKey {
  readonly id: string
  readonly digest: Buffer
  readonly orderKey: string | null
  readonly origin: string
  readonly position: string | null
  readonly brokerKey: string | null
  readonly deliveryCount: number
  readonly headers: string
  readonly properties: string
  readonly body: Buffer
}

export interface TakenWork extends WorkLease {
  /** The order key, on the first row of each key in the batch; null on all others. */
  readonly headOf: string | null
  /** Held by a campaign that may ask for external effects: lost when it may not any more. */
  readonly asks: boolean
}

export interface DoneWork extends WorkLease {
  /**
   * What becomes of its business key: used up by the effect; given back by the store, because nobody could
   * read which it is; or, null, kept or given back by its conclusion.
   */
  readonly key: 'used' | 'unread' | null
}

export interface PutOffWork extends WorkLease {
  readonly delayMs: number
  readonly attempts: number
  readonly reason: string
  readonly failureClass: string
  readonly code: string
  readonly error: string | null
}
