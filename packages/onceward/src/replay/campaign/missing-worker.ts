import { readStoredWork } from '../../drivers/postgres/campaign/campaign-consumer.ts'
import type { SqlClient } from '../../drivers/postgres/pool.ts'
import type { TallySnapshot } from '../../engine/consumer/tally.ts'
import type { Environment } from '../../environment.ts'
import { OncewardError } from '../../errors.ts'
import type { Campaign } from './campaign.ts'

const lookEveryMs = 1_000

export interface MissingWorkerOptions {
  readonly client: SqlClient
  readonly env: Environment
  readonly campaign: Campaign
  readonly tally: () => TallySnapshot
  /** How long the campaign may make no progress before it looks for a worker. */
  readonly waitMaxMs: number
  readonly onStuck: (error: OncewardError) => void
}

/**
 * Under key order a campaign waits for messages that live workers hold under the same key. Without a worker
 * it would wait forever, so it ends with an error that names the remedy.
 */
export function watchForMissingWorker({
  client,
  env,
  campaign,
  tally,
  waitMaxMs,
  onStuck,
}: MissingWorkerOptions): () => void {
  let cancel = () => {}
  let ended = false
  let [through, since] = [-1, env.clock.nowMs()]
  const isStill = () => {
    const { outcomes, held } = tally()
    const now = Object.entries(outcomes).reduce((sum, [of, count]) => sum + (of === 'retry' ? 0 : count), 0)
    if (held > 0 && now === through) return env.clock.nowMs() - since >= waitMaxMs
    through = now
    since = env.clock.nowMs()
    return false
  }
  const beat = async () => {
    if (isStill()) {
      const { consumer, generation } = campaign
      const found = await readStoredWork(client, { name: consumer, generation })
      if (found?.work && !found.live && !ended) return onStuck(missingWorker(campaign))
    }
    later()
  }
  const later = () => {
    if (!ended) cancel = env.timers.after(Math.min(lookEveryMs, waitMaxMs), () => void beat().catch(later))
  }
  later()
  return () => {
    ended = true
    cancel()
  }
}

function missingWorker({ id, consumer }: Campaign): OncewardError {
  return new OncewardError(
    'usage',
    `Campaign ${id} waits for messages that ${consumer} has stored or deferred under the same keys, and no process of ${consumer} is running to apply them. Applied messages stay applied. Start its workers ("onceward run", or --part worker), then "onceward replay resume".`,
  )
}
