import { hasOpenRows, leaseParkedRows } from '../../drivers/postgres/campaign/parked-rows.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import type { LeasedWork, WorkQueue } from '../../ports/held-work.ts'
import type { Throttle } from '../campaign/throttle.ts'

export interface ParkedQueueOptions {
  readonly pool: SqlPool
  readonly inner: WorkQueue
  readonly campaignId: string
  /** The epoch of the campaign's position, which fences every write. */
  readonly epoch: number
  readonly throttle: Throttle | null
  /** Called when no row is open. */
  readonly onEnd: () => void
}

/** The rows of a campaign as a work queue. They stay parked, so only this campaign leases them. */
export function parkedQueue({
  pool,
  inner,
  campaignId,
  epoch,
  throttle,
  onEnd,
}: ParkedQueueOptions): WorkQueue {
  return {
    async lease({ consumerId }, { countMax, leaseMs }): Promise<LeasedWork> {
      const count = Math.min(countMax, throttle?.countMax ?? countMax)
      const lease = { campaignId, consumerId, epoch, countMax: count, leaseMs }
      const rows = await leaseParkedRows(pool, lease)
      if (rows.length > 0) await throttle?.pass(rows.length)
      else if (!(await hasOpenRows(pool, campaignId))) onEnd()
      return { rows, expired: 0, next: null }
    },
    extend: (leases, leaseMs) => inner.extend(leases, leaseMs),
    giveBack: leases => inner.giveBack(leases),
  }
}
