import { isConsumerHeard } from '../../drivers/postgres/campaign/campaign-consumer.ts'
import type { Campaign } from './campaign.ts'
import type { RunCampaignOptions } from './run-campaign.ts'

const lookEveryMs = 500
const logEveryMs = 5_000

interface Awaited<T> {
  readonly look: () => Promise<T>
  /** Whether the live consumer may still change the result. */
  readonly waits: (found: T) => boolean
  readonly text: (found: T) => string
}

/**
 * Looks again until there is nothing to wait for, the time is up, or no live process is running. Returns the
 * last result.
 */
export async function waitForLive<T>(
  { id, consumer, liveGeneration }: Campaign,
  { pool, env, waitMaxMs, signal }: RunCampaignOptions,
  { look, waits, text }: Awaited<T>,
): Promise<T> {
  const endMs = env.clock.nowMs() + waitMaxMs
  let loggedMs = Number.NEGATIVE_INFINITY
  for (;;) {
    // Checked first: a process that ends after finishing everything counts as having finished.
    const isHeard = await isConsumerHeard(pool, { name: consumer, generation: liveGeneration })
    const found = await look()
    const nowMs = env.clock.nowMs()
    if (!waits(found) || !isHeard || nowMs >= endMs || signal?.aborted) return found
    if (nowMs - loggedMs >= logEveryMs) {
      env.log.info(`waiting for the live consumer: ${text(found)}`, { campaign: id, consumer })
      loggedMs = nowMs
    }
    await new Promise<void>(resolve => env.timers.after(Math.min(lookEveryMs, endMs - nowMs), resolve))
  }
}
