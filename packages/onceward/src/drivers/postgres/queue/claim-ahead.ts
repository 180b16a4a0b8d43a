import type { Reach } from '../../../crash-points.ts'
import type { SqlPool } from '../pool.ts'
import { claimMessages } from './claim-messages.ts'
import type { Holdings, QueueLease } from './holdings.ts'
import { disownLostClaim, freeExpired } from './lease.ts'

export interface ClaimAheadOptions {
  readonly pool: SqlPool
  readonly keyOrder: boolean
  readonly leaseMs: number
  readonly reach: Reach
}

/** Expired leases are looked for, and the queue is looked through from its start, this often. */
export const lookAroundMs = 1_000
/** Larger claims make the first message of a burst wait for the last. */
const claimMax = 1_000

/**
 * Claims messages of one queue under a lease. The cursor is a hint that saves reading leased rows again:
 * messages committed late and freed ones lie behind it, so it goes back to the start now and then, and
 * whenever it found nothing. A claim whose answer is lost leaves a doubt that must be cleared before the
 * next.
 */
export class ClaimAhead {
  readonly #options: ClaimAheadOptions
  readonly #holdings: Holdings
  #doubt = false
  #cursor = '0'
  #lookedAroundMs = Number.NEGATIVE_INFINITY

  constructor(options: ClaimAheadOptions, holdings: Holdings) {
    this.#options = options
    this.#holdings = holdings
  }

  /** The claims of an earlier lease are over, whatever became of them. */
  forgetDoubt(): void {
    this.#doubt = false
  }

  /** With a new lease: look at everything soon. */
  startOver(): void {
    this.#lookedAroundMs = Number.NEGATIVE_INFINITY
  }

  /** Gives back what a claim may have taken without our knowing. False when the lease is gone. */
  async clearDoubt(lease: QueueLease): Promise<boolean> {
    if (!this.#doubt) return true
    const epoch = await disownLostClaim(this.#options.pool, lease.id, this.#holdings.ids)
    this.#doubt = false
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
   * Resolves with the lease's new messages in the holdings if `isCurrent` still; says whether to claim again
   * at once.
   */
  async claim(
    queueId: number,
    lease: QueueLease,
    room: { readonly count: number; readonly bytes: number },
    isCurrent: () => boolean,
  ): Promise<'some' | 'again' | 'none'> {
    const { pool, keyOrder, reach } = this.#options
    const countMax = Math.min(room.count, claimMax)
    this.#doubt = true
    const rows = await claimMessages(pool, {
      queueId,
      leaseId: lease.id,
      epoch: lease.epoch,
      keyOrder,
      afterId: this.#cursor,
      countMax,
      bytesMax: Math.max(0, room.bytes),
      oversized: this.#holdings.empty,
    })
    this.#doubt = false
    const fromStart = this.#cursor === '0'
    this.#cursor = rows.length === countMax ? rows.at(-1)!.id : '0'
    if (rows.length === 0) return fromStart ? 'none' : 'again'
    reach('postgres.leased')
    if (isCurrent()) this.#holdings.add(lease, rows)
    return 'some'
  }
}
