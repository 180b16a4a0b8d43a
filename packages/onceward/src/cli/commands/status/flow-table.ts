import type { readRates } from '../../../telemetry/consumer-detail.ts'
import { table } from '../../table.ts'

/** What became of the messages of the last hour, and how many wait at the broker or in the log. */
export function flowTable({ consumers, lag }: Awaited<ReturnType<typeof readRates>>): string {
  return table(
    ['consumer', 'applied', 'duplicates', 'set aside', 'failed', 'at the source'],
    consumers.map(one => {
      const waiting = lag.filter(({ consumer }) => consumer === one.consumer).map(({ behind }) => behind)
      const counts = [one.applied, one.duplicates, one.setAside, one.failed].map(sum)
      return [one.consumer, ...counts, waiting.length === 0 ? 'unknown' : sum(waiting)]
    }),
  )
}

function sum(counts: readonly (number | null)[]): number {
  return counts.reduce<number>((total, count) => total + (count ?? 0), 0)
}
