import type { SqlClient } from '../../drivers/postgres/pool.ts'
import { isHeard } from '../../drivers/postgres/sql/clock-ahead.ts'
import type { Campaign } from './campaign.ts'
import type { RunCampaignOptions } from './run-campaign.ts'

const lookEveryMs = 500
const sayEveryMs = 5_000

/** Whether a process of the live consumer gives signs of life. */
const heard = `
  select exists (select from onceward.run r where r.consumer_id = c.id and r.ended_at is null and r.campaign_id is null
    and ${isHeard('r.heartbeat_at', '30 seconds')}) as live
  from onceward.consumer c where c.name = $1 and c.generation = $2`

interface Awaited<T> {
  readonly look: () => Promise<T>
  /** Whether the live consumer may still change the answer. */
  readonly waits: (found: T) => boolean
  readonly text: (found: T) => string
}

/**
 * Looks until there is nothing to wait for, the patience is over, or no live process is heard. Answers with
 * what it saw last.
 */
export async function waitForLive<T>(
  { id, consumer, liveGeneration }: Campaign,
  { pool, env, patienceMs, signal }: RunCampaignOptions,
  { look, waits, text }: Awaited<T>,
): Promise<T> {
  const endMs = env.clock.nowMs() + patienceMs
  let saidMs = Number.NEGATIVE_INFINITY
  for (;;) {
    // Asked first: a process that ends after it has finished everything is seen to have finished.
    const isHeard = await isLive(pool, consumer, liveGeneration)
    const found = await look()
    const nowMs = env.clock.nowMs()
    if (!waits(found) || !isHeard || nowMs >= endMs || signal?.aborted) return found
    if (nowMs - saidMs >= sayEveryMs) {
      env.log.info(`waiting for the live consumer: ${text(found)}`, { campaign: id, consumer })
      saidMs = nowMs
    }
    await new Promise<void>(resolve => env.timers.after(Math.min(lookEveryMs, endMs - nowMs), resolve))
  }
}

async function isLive(client: SqlClient, consumer: string, generation: number): Promise<boolean> {
  const { rows } = await client.query(heard, [consumer, generation])
  return rows[0]?.live === true
}
