import type { Consumer } from './define-consumer.ts'
import { durationText } from './duration.ts'
import { neededRetention, type SourceWindow } from './needed-retention.ts'
import { resolveRetention } from './retention.ts'
import type { RetentionSection } from './upkeep-sections.ts'

const dayMs = 86_400_000
/** What Kafka keeps by default: seven days, and a segment of up to seven more. */
const kafkaDefaultMs = 14 * dayMs
/** For sources that cannot report it: a stuck queue may wait until its owner is back from a holiday. */
const sourceKeepsMs = 14 * dayMs

type Advised = Pick<
  Consumer,
  'name' | 'risk' | 'source' | 'dedup' | 'failure' | 'batch' | 'replay' | 'effect'
>

/**
 * A retention section with which this consumer starts: empty where the defaults of its risk are long enough.
 * Brokers that keep messages longer than by default are compared at start and by `check --live`. Pure.
 */
export function adviseRetention(consumer: Advised): RetentionSection {
  const declared = reportsWindow(consumer.source) ? {} : { sourceKeeps: durationText(sourceKeepsMs) }
  const retention = resolveRetention(declared, consumer.risk, consumer.effect as never)
  const needed = neededRetention({ ...consumer, retention }, usualWindow(consumer.source))
  if (needed.ms <= retention.markers) return declared
  return { markers: durationText(wholeDays(needed.ms)), ...declared }
}

/** As it is written in a contract. */
export function retentionText(section: RetentionSection): string {
  const parts = Object.entries(section).map(([name, value]) => `${name}: '${value}'`)
  return parts.length === 0 ? 'retention: {}' : `retention: { ${parts.join(', ')} }`
}

/** True if the source's own facts say how long it may redeliver a message. */
export function reportsWindow(source: Advised['source']): boolean {
  return (
    source.kind === 'kafka' || (source.kind === 'postgres' && !('url' in source && source.url !== undefined))
  )
}

function usualWindow({ kind }: Advised['source']): SourceWindow {
  return kind === 'kafka' ? { ms: kafkaDefaultMs, by: 'the defaults of Kafka' } : { unknown: 'not asked' }
}

const wholeDays = (ms: number) => Math.ceil(ms / dayMs) * dayMs
