import type { Consumer } from '../contract/define-consumer.ts'
import type { SqlTransaction } from '../contract/handler.ts'
import { assertKeptLongEnough, neededRetention } from '../contract/needed-retention.ts'
import { consumerIdOf } from '../operations/retention/plan-purge.ts'
import { RetentionLoop } from '../operations/retention/retention-loop.ts'
import type { RelayHandle } from './open-relays.ts'
import type { BrokerAccess } from './open-source.ts'
import { readSourceWindow } from './source-window.ts'

export interface RetentionSetting extends BrokerAccess {
  readonly archiveFolder?: string | undefined
  readonly retentionFirstMs?: number | undefined
  readonly retentionEveryMs?: number | undefined
  /** Whether the consumer has no backlog. */
  readonly idle: () => boolean
}

/** Refuses terms that are too short; empty for a contract without retention. */
export async function openRetention<M>(
  consumer: Consumer<M, SqlTransaction>,
  setting: RetentionSetting,
): Promise<RelayHandle[]> {
  const { retention, name } = consumer
  if (retention === null) return []
  let redeliveredMs: number | null = null
  if (consumer.dedup === 'marker') {
    const window = await readSourceWindow(consumer.source, setting)
    // The declared window may be shorter than the broker's: the start waits for the broker's answer.
    if ('unknown' in window && window.trouble !== undefined) throw window.trouble
    assertKeptLongEnough(consumer as never, window)
    redeliveredMs = neededRetention(consumer as never, window).ms
  }
  const { pool, env, archiveFolder, retentionFirstMs, retentionEveryMs } = setting
  return [
    new RetentionLoop({
      pool,
      env,
      consumerName: name,
      consumerId: () => consumerIdOf(pool, consumer),
      retention,
      redeliveredMs,
      clocks: { wallMs: Date.now, clock: env.clock },
      caughtUp: setting.idle,
      ...(archiveFolder !== undefined && { archive: { folder: archiveFolder, gzip: true } }),
      ...(retentionFirstMs !== undefined && { firstAfterMs: retentionFirstMs }),
      ...(retentionEveryMs !== undefined && { everyMs: retentionEveryMs }),
    }),
  ]
}
