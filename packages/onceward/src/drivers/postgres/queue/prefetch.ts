import type { Reach } from '../../../crash-points.ts'
import type { SqlPool } from '../pool.ts'
import type { Holdings, QueueLease } from './holdings.ts'
import { freeExpired, undoUnconfirmedLease } from './lease.ts'
import { leaseMessages } from './lease-messages.ts'

export interface PrefetchOptions {
  readonly pool: SqlPool
  readonly keyOrder: boolean
  readonly leaseMs: number
  readonly reach: Reach
}

/** How often expired leases are removed and the scan returns to the start of the queue. */
export const lookAroundMs = 1_000
/** Larger batches make the first message of a burst wait for the last. */
const leaseMax = 1_000

/**
 * Leases messages of one queue ahead of the consumer. The cursor is a hint that avoids reading leased rows
 * again. Messages that were committed late or freed lie behind it, so it returns to the start from time to
 * time, and after every scan that found nothing. A statement whose answer was lost is undone before the next
 * one.
 */
export class Prefetch {
  readonly #options: PrefetchOptions
  readonly #holdings: Holdings
  #isUnconfirmed = false
  #cursor = '0'
  #lookedAroundMs = Number.NEGATIVE_INFINITY

  constructor(options: PrefetchOptions, holdings: Holdings) {
    this.#options = options
    this.#holdings = holdings
  }

  /** Statements under an earlier lease need no undo. */
  forgetUnconfirmed(): void {
    this.#isUnconfirmed = false
  }

  /** With a new lease: the next scan begins at the start of the queue. */
  startOver(): void {
    this.#lookedAroundMs = Number.NEGATIVE_INFINITY
  }

  /** Frees messages that a statement without an answer may have leased. False if the lease is gone. */
  async undoUnconfirmed(lease: QueueLease): Promise<boolean> {
    if (!this.#isUnconfirmed) return true
    const epoch = await undoUnconfirmedLease(this.#options.pool, lease.id, this.#holdings.ids)
    this.#isUnconfirmed = false
    if (epoch !== null) lease.epoch = epoch
    return epoch !== null
  }

  async lookAround(queueId: number): Promise<void> {
    if (performance.now() - this.#lookedAroundMs < lookAroundMs) return
    this.#lookedAroundMs = performance.now()
    this.#cursor = '0'
    await freeExpired(this.#options.pool, queueId, this.#options.leaseMs)
  }

  /**
   * Adds the leased messages to the holdings if `isCurrent` still holds. Returns whether to fetch again at
   * once.
   */
  async fetch(
    queueId: number,
    lease: QueueLease,
    room: { readonly count: number; readonly bytes: number },
    isCurrent: () => boolean,
  ): Promise<'some' | 'again' | 'none'> {
    const { pool, keyOrder, reach } = this.#options
    const countMax = Math.min(room.count, leaseMax)
    this.#isUnconfirmed = true
    const rows = await leaseMessages(pool, {
      queueId,
      leaseId: lease.id,
      epoch: lease.epoch,
      keyOrder,
      afterId: this.#cursor,
      countMax,
      bytesMax: Math.max(0, room.bytes),
      oversized: this.#holdings.empty,
    })
    this.#isUnconfirmed = false
    const fromStart = this.#cursor === '0'
    this.#cursor = rows.length === countMax ? rows.at(-1)!.id : '0'
    if (rows.length === 0) return fromStart ? 'none' : 'again'
    reach('postgres.leased')
    if (isCurrent()) this.#holdings.add(lease, rows)
    return 'some'
  }
}
