import type { Stall } from '../../ports/source.ts'
import type { Fetcher } from './client/kafka-client.ts'
import type { PartitionLease } from './committer.ts'
import { findStall, type Silences } from './find-stall.ts'
import { partitionName } from './take-partitions.ts'
import type { TopicSettings } from './topic.ts'
import type { Watchdog } from './watchdog.ts'

export interface Reader {
  readonly settings: TopicSettings
  readonly fetcher: Fetcher
  readonly watchdog: Watchdog
  /** When the group last confirmed this member. */
  readonly groupMs: number
  /** The partitions that are read now. */
  readonly reading: readonly PartitionLease[]
  readonly unread: Silences['unread']
}

/** The longest silence that keeps a member from reading; null when there is none. */
export function readerStall({ settings, fetcher, watchdog, groupMs, reading, unread }: Reader): Stall | null {
  return findStall({
    groupMs: performance.now() - groupMs,
    heartbeatMs: settings.heartbeatMs,
    owed: reading.map(({ partition, progress }) => ({
      name: progress.partition,
      forMs: fetcher.owedMs(partition),
    })),
    standing: watchdog.standing().map(({ partition, forMs }) => ({
      name: partitionName(settings, partition),
      forMs,
    })),
    unread,
  })
}
