import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { isoTime } from '../../drivers/postgres/sql/iso-time.ts'
import { effectsOf, heldRow } from '../../drivers/postgres/sql/lease-work.ts'
import type { LeasedWork, WorkQueue } from '../../ports/held-work.ts'
import type { Throttle } from '../campaign/throttle.ts'

const claim = `
  select id::text as row, epoch, message_id, digest, nullif(headers::text, '{}') as headers, nullif(properties::text, '{}') as properties,
    origin, position, broker_key, delivery_count, ${isoTime('first_at')} as first_at, attempts, keyless, mode, campaign_id::text as campaign_id,
    ${effectsOf('campaign_id')} as effects, body
  from onceward.lease_parked($1, $2, $3, $4, $5) order by id`

const anyOpen = `select exists (select from onceward.campaign_row where campaign_id = $1 and state = 'open') as open`

export interface ParkedQueueOptions {
  readonly pool: SqlPool
  readonly inner: WorkQueue
  readonly campaignId: string
  /** Of the campaign's place, under which everything here is fenced. */
  readonly epoch: number
  readonly throttle: Throttle | null
  /** Called when every row is done or left. */
  readonly onEnd: () => void
}

/**
 * The rows of a campaign as work to be claimed. They stay parked: nobody but this campaign takes them from
 * here.
 */
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
      const { rows } = await pool.query(claim, [campaignId, consumerId, epoch, count, leaseMs])
      if (rows.length > 0) await throttle?.pass(rows.length)
      else if (!(await pool.query(anyOpen, [campaignId])).rows[0].open) onEnd()
      return { rows: rows.map(heldRow), expired: 0, next: null }
    },
    extend: (claims, leaseMs) => inner.extend(claims, leaseMs),
    giveBack: claims => inner.giveBack(claims),
  }
}
