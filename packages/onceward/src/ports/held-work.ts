import type { SuppressedEffect } from './campaign-session.ts'
import type { Enrolment } from './enrolment.ts'
import type { HeldIdentities, HeldKey } from './held-record.ts'
import type { HeldFacts } from './source.ts'

/** The instance of a worker's run ends with it, which distinguishes it from the run of a reader. */
export const workerSuffix = ' worker'

/** One leased row. */
export type WorkLease = Pick<HeldFacts, 'row' | 'epoch'>

export interface LostLease extends WorkLease {
  /** Another worker has it; false when the row is gone. */
  readonly taken: boolean
}

/** The durable keyed queue, as workers use it. Each call is a short transaction, on the database's clock. */
export interface WorkQueue {
  /** Leases due rows that no worker holds, at most `countMax`, for `leaseMs`; raises the epoch of each. */
  lease(enrolment: Enrolment, request: WorkRequest): Promise<LeasedWork>
  /**
   * Called while rows are being processed. Returns the rows whose lease is lost: taken by another worker, or
   * finished.
   */
  extend(leases: readonly WorkLease[], leaseMs: number): Promise<readonly LostLease[]>
  /** Ends the leases that are still held, so that other workers need not wait for their expiry. */
  giveBack(leases: readonly WorkLease[]): Promise<void>
}

export interface WorkRequest {
  readonly countMax: number
  readonly leaseMs: number
  /** A key's rows are leased in order, and by one holder at a time. */
  readonly ordered: boolean
  /** Where the last look ended; null looks from the start. */
  readonly after: string | null
}

export interface LeasedWork {
  readonly rows: readonly WorkRow[]
  /** Rows among them whose last holder let the lease expire. */
  readonly expired: number
  /** Where to continue, if there may be more; null when the end was reached. */
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
   * Stores messages to be processed later, in the order given, due at once. Their markers already have the
   * status `stored`. With a holder they are leased to it as they are written, except those of keys with
   * unfinished work of another holder. Answers in the order of the messages.
   */
  keep(messages: readonly KeptMessage[], holder: WorkHolder | null): Promise<readonly (WorkLease | null)[]>

  /**
   * Of these order keys, those with stored and unfinished work: a consumer that applies deliveries beside
   * workers lets that work go first. Each with the delay until the last of it is due, as far as known; 0 when
   * it is due now.
   */
  keysAtWork(keys: readonly string[]): Promise<ReadonlyMap<string, number>>

  /**
   * The first statement of a worker's transaction. Rejects with `lease_lost` (details: `rows`) when the lease
   * of any row is lost. Of the keys given, returns those that have unfinished work before the row, and its
   * state.
   */
  confirmLeases(work: readonly TakenWork[]): Promise<ReadonlyMap<string, 'stored' | 'parked'>>

  /**
   * The fence of a worker. Removes finished rows and updates their markers; postpones rows to be tried again.
   * Rows that wait for the business key of an effect that happened become due. Rejects with `lease_lost`
   * (details: `rows`) when the lease of any row is lost, having written nothing that could commit.
   */
  finish(done: readonly DoneWork[], again: readonly PutOffWork[]): Promise<void>

  /**
   * Live deliveries of these arrived while campaigns or replays hold them. The held rows become live work,
   * and their leases are lost.
   */
  makeLive(ids: readonly string[]): Promise<void>

  /**
   * Effects outside the database that handlers requested while a worker processed rows held by this campaign.
   */
  noteSuppressed(campaignId: string, effects: readonly SuppressedEffect[]): Promise<void>
}

/** A worker of this process that has room for the messages being stored. */
export interface WorkHolder {
  readonly runId: number
  readonly leaseMs: number
  /** A key's rows are leased in order, and by one holder at a time. */
  readonly ordered: boolean
}

export interface KeptMessage extends HeldKey, HeldIdentities {
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
  /** Held by a campaign that may request external effects. Its lease is lost when the approval ends. */
  readonly asks: boolean
}

export interface DoneWork extends WorkLease {
  /**
   * What happens to its business key. `used`: the effect used it up. `unread`: the store releases it, because
   * the key could not be read. Null: its conclusion keeps or releases it.
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
