import type { SqlClient } from '../../drivers/postgres/pool.ts'
import { isHeard } from '../../drivers/postgres/sql/clock-ahead.ts'
import type { TallySnapshot } from '../../engine/consumer/tally.ts'
import type { Environment } from '../../environment.ts'
import { OncewardError } from '../../errors.ts'
import type { Campaign } from './campaign.ts'

const lookEveryMs = 1_000

/** Work that a campaign lets go first, and whether anybody lives who would do it. */
const look = `
  select exists (select from onceward.held h where h.consumer_id = c.id and h.order_key is not null and h.state = 'stored') as work,
    exists (select from onceward.run r where r.consumer_id = c.id and r.ended_at is null and r.campaign_id is null
      and ${isHeard('r.heartbeat_at', '30 seconds')}) as live
  from onceward.consumer c where c.name = $1 and c.generation = $2`

export interface NobodyOptions {
  readonly client: SqlClient
  readonly env: Environment
  readonly campaign: Campaign
  readonly tally: () => TallySnapshot
  /** How long nothing may come through before anybody is asked for. */
  readonly patienceMs: number
  readonly onStuck: (error: OncewardError) => void
}

/**
 * Under key order a campaign waits for what live workers have of a key. Without a worker it would for ever:
 * then it ends, and says what to do.
 */
export function watchForNobody({
  client,
  env,
  campaign,
  tally,
  patienceMs,
  onStuck,
}: NobodyOptions): () => void {
  let cancel = () => {}
  let over = false
  let [through, since] = [-1, env.clock.nowMs()]
  const isStill = () => {
    const { outcomes, held } = tally()
    const now = Object.entries(outcomes).reduce((sum, [of, count]) => sum + (of === 'retry' ? 0 : count), 0)
    if (held > 0 && now === through) return env.clock.nowMs() - since >= patienceMs
    through = now
    since = env.clock.nowMs()
    return false
  }
  const beat = async () => {
    if (isStill()) {
      const { rows } = await client.query(look, [campaign.consumer, campaign.generation])
      if (rows[0]?.work && !rows[0].live && !over) return onStuck(nobody(campaign))
    }
    later()
  }
  const later = () => {
    if (!over) cancel = env.timers.after(Math.min(lookEveryMs, patienceMs), () => void beat().catch(later))
  }
  later()
  return () => {
    over = true
    cancel()
  }
}

function nobody({ id, consumer }: Campaign): OncewardError {
  return new OncewardError(
    'usage',
    `Campaign ${id} waits for messages that ${consumer} has stored or deferred under the same keys, and no process of ${consumer} has been heard of that would apply them. What was applied stays applied. Start its workers ("onceward run", or --part worker), then "onceward replay resume".`,
  )
}
