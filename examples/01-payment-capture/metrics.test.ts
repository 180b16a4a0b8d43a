import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { metrics } from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { until } from 'onceward/testing'
import { skipWithout } from '../../packages/onceward/test/services/services.ts'
import { request } from './produce.ts'
import { type BrokerName, openScene } from './test/scene.ts'

const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })
metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }))

/** The counters so far, summed over their attributes except `reason`. */
async function counters(): Promise<Record<string, number>> {
  exporter.reset()
  await reader.forceFlush()
  const sums: Record<string, number> = {}
  for (const { metrics: found } of exporter.getMetrics().flatMap(one => one.scopeMetrics)) {
    for (const { descriptor, dataPoints } of found) {
      for (const { value, attributes } of dataPoints) {
        const name = [descriptor.name, attributes.reason].filter(Boolean).join(' ')
        if (typeof value === 'number') sums[name] = (sums[name] ?? 0) + value
      }
    }
  }
  return sums
}

const names = [
  'onceward.consumer.applied.messages',
  'onceward.consumer.duplicates',
  'onceward.consumer.conflicts',
  'onceward.external.suppressed.effects duplicate',
]

for (const broker of ['postgres', 'rabbitmq'] as const satisfies BrokerName[]) {
  describe(`metrics of payment capture over ${broker}`, await skipWithout('postgres', broker), () => {
    it('9 counts processed, duplicate, side-effect duplicate and conflict', async () => {
      const scene = await openScene(broker)
      try {
        const before = await counters()
        const grown = async () => {
          const now = await counters()
          return names.map(name => (now[name] ?? 0) - (before[name] ?? 0))
        }
        const first = await scene.run()
        await scene.send(request(1), request(2))
        await until('two applied', () => first.consumer!.tally.outcomes.applied === 2)
        await scene.send(request(1), request(1, { amount: 9_999 }))
        await until('a conflict', () => first.consumer!.tally.conflicts === 1)
        await until('a duplicate', () => first.consumer!.tally.outcomes.duplicate === 1)
        assert.deepEqual(await grown(), [2, 1, 1, 0])
        await scene.drained(first)

        // An operator replays live under a new generation by mistake: the ledger still has the captures.
        await scene.rows('truncate capture')
        await scene.send(request(1), request(2))
        const second = await scene.run({ settings: { generation: 2 } })
        await until('applied again', () => second.consumer!.tally.outcomes.applied === 2)
        assert.deepEqual(await grown(), [4, 1, 1, 2])
        assert.ok(scene.gateway.charges('cap-1') <= 1 && scene.gateway.charges('cap-2') <= 1)
      } finally {
        await scene.close()
      }
    })
  })
}
