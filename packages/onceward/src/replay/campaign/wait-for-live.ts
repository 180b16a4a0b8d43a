import { isConsumerHeard } from '../../drivers/postgres/campaign/campaign-consumer.ts'
import type { Campaign } from './campaign.ts'
import type { RunCampaignOptions } from './run-campaign.ts'

const lookEveryMs = 500
const sayEveryMs = 5_000

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
    const isHeard = await isConsumerHeard(pool, { name: consumer, generation: liveGeneration })
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
