import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { metricOrigins } from '../../../../scripts/reference/metric-origins.ts'
import { openPrometheus } from '../../src/runtime/open-prometheus.ts'
import {
  catalogue,
  type MetricKey,
  type MetricSpec,
  prometheusLabel,
  prometheusName,
} from '../../src/telemetry/catalogue.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'

const specs = Object.values(catalogue) as readonly MetricSpec[]
const origins = (Object.entries(catalogue) as [MetricKey, MetricSpec][]).flatMap(([key, spec]) =>
  (metricOrigins[key] ?? []).map(origin => ({ spec, ...origin })),
)
const page = readFileSync(new URL('../../../../docs/metrics.md', import.meta.url), 'utf8')

/** As the source documents list them. */
const seeds = {
  '000 §22': [
    'consumer.deliveries.total',
    'consumer.processed.total',
    'consumer.duplicates.total',
    'consumer.duplicate_conflicts.total',
    'consumer.inbox.insert.latency',
    'consumer.business.apply.latency',
    'consumer.redelivered.total',
    'consumer.ack.after.commit.failures',
  ],
  '001 §29': [
    'consumer.messages.received.total',
    'consumer.messages.processed.total',
    'consumer.processing.duration',
    'consumer.duplicates.total',
    'consumer.retries.total',
    'consumer.dlq.total',
    'consumer.lag',
    'consumer.offset.commits.total',
    'consumer.deserialization.failures.total',
    'consumer.poison.detected.total',
  ],
  '003 §19': [
    'consumer.records.polled.count',
    'consumer.offset.commit.success.count',
    'consumer.offset.commit.failure.count',
    'consumer.inbox.insert.count',
    'consumer.inbox.duplicate.count',
    'consumer.inbox.claimed.count',
    'consumer.inbox.processed.count',
    'consumer.inbox.retryable_failed.count',
    'consumer.inbox.quarantined.count',
    'consumer.inbox.oldest_pending_age.seconds',
    'consumer.inbox.processing.duration.ms',
    'consumer.inbox.claim.expired.count',
    'consumer.effect.idempotent_skip.count',
    'consumer.effect.failure.count',
    'consumer.replay.mode.count',
  ],
} as const

const rows = (head: string) => {
  const lines = page.split('\n')
  const at = lines.findIndex(line => line.startsWith(`| ${head} `))
  const end = lines.findIndex((line, index) => index > at && !line.startsWith('|'))
  return lines.slice(at + 2, end === -1 ? undefined : end).filter(line => line !== '')
}

async function openProvider() {
  const { provider, exposition } = await openPrometheus()
  return { metrics: createMetrics(provider.getMeter('onceward')), exported: exposition, provider }
}

/** Names that the OpenTelemetry messaging conventions define. */
const conventions = [
  'messaging.client.consumed.messages',
  'messaging.client.operation.duration',
  'messaging.client.sent.messages',
  'messaging.process.duration',
]

const plural = (noun: string) =>
  /[^aeiou]y$/.test(noun) ? noun.replace(/y$/, 'ies') : /ss$|h$/.test(noun) ? `${noun}es` : `${noun}s`

describe('the table of metrics', () => {
  test('has every name of the source documents, and no other', () => {
    for (const [from, names] of Object.entries(seeds)) {
      const answered = origins.filter(origin => origin.from === from)
      assert.deepEqual(answered.map(({ name }) => name).sort(), [...names].sort(), from)
    }
    for (const { spec, where = {} } of origins) {
      for (const label of Object.keys(where)) assert.ok(spec.labels.includes(label as never), spec.name)
    }
  })

  test('has each name once, with a description', () => {
    const names = specs.map(prometheusName)
    assert.deepEqual([...new Set(names)], names)
    for (const { name, description } of specs) assert.ok(description.length > 10, name)
  })

  test('every name is ours by its prefix, or one of the messaging conventions', () => {
    const foreign = specs.filter(({ name }) => !/^onceward(\.[a-z_]+)+$/.test(name)).map(({ name }) => name)
    assert.deepEqual(foreign.sort(), conventions)
    for (const spec of specs) assert.match(prometheusName(spec), /^(onceward|messaging)(_[a-z]+)+$/)
  })

  test('every name ends with its unit', () => {
    for (const spec of specs) {
      const end = new RegExp(`_${endOf(spec)}${spec.kind === 'counter' ? '_total' : ''}$`)
      assert.match(prometheusName(spec), end)
      if (spec.unit.startsWith('{')) assert.match(spec.name, new RegExp(`\\.${endOf(spec)}$`))
      else assert.doesNotMatch(spec.name, /[._](seconds|ratio|total)$/)
      if (spec.kind === 'histogram') assert.equal(spec.unit, 's')
    }
    const switches = specs.filter(({ unit }) => unit === '').map(prometheusName)
    const known = ['braked', 'paused', 'up', 'info'].map(name => `onceward_consumer_${name}`)
    assert.deepEqual(switches, known)
  })

  test('a metric of a handler keeps the name its author chose', async () => {
    const { provider, exported } = await openProvider()
    provider.getMeter('mine').createHistogram('orders.time', { unit: 's' }).record(1)
    assert.match(await exported(), /^orders_time_count 1$/m)
  })

  test('is the one in the docs, line by line', () => {
    const lines = specs.map(
      spec =>
        `| \`${prometheusName(spec)}\` | \`${spec.name}\` | ${spec.kind} | ${spec.unit} | ${spec.labels.join(', ')} | ${spec.description} |`,
    )
    assert.deepEqual(rows('Prometheus'), lines)
    const told = Object.keys(seeds).flatMap(from =>
      origins
        .filter(origin => origin.from === from)
        .map(({ spec, name, where }) => {
          const labels = Object.entries(where ?? {}).map(([label, value]) => `${label}="${value}"`)
          const narrowed = labels.length === 0 ? '' : `{${labels.join(',')}}`
          return `| ${from} | \`${name}\` | \`${prometheusName(spec)}${narrowed}\` |`
        }),
    )
    assert.deepEqual(rows('source'), told)
  })

  test('is exported under exactly these names, kinds and labels', async () => {
    const { metrics, exported } = await openProvider()
    const labelled = Object.fromEntries(
      Object.entries(catalogue as Record<string, MetricSpec>).map(([key, { labels }]) => [
        key,
        Object.fromEntries(labels.map(label => [label, 'x'])),
      ]),
    )
    const gauges = Object.entries(catalogue).filter(([, { kind }]) => kind === 'gauge')
    metrics.watch(gauges.map(([key]) => key) as never, see => {
      for (const [key] of gauges) see(key as never, 1, labelled[key] as never)
    })
    for (const [key, { kind }] of Object.entries(catalogue)) {
      if (kind === 'counter') metrics.add(key as never, 1, labelled[key] as never)
      if (kind === 'histogram') metrics.record(key as never, 1, labelled[key] as never)
    }
    const text = await exported()
    for (const spec of specs) {
      const name = prometheusName(spec)
      assert.match(text, new RegExp(`^# TYPE ${name} ${spec.kind}$`, 'm'), name)
      const line = text.match(
        new RegExp(`^${name}${spec.kind === 'histogram' ? '_count' : ''}\\{(.*)\\} 1$`, 'm'),
      )
      assert.ok(line, name)
      const labels = [...line[1]!.matchAll(/([a-z_]+)="/g)].map(([, label]) => label!)
      assert.deepEqual(labels.sort(), spec.labels.map(prometheusLabel).sort(), name)
    }
    const types = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name!)
    assert.deepEqual(types.sort(), specs.map(prometheusName).sort())
  })

  test('limits the number of time series from external values', async () => {
    const { metrics, exported } = await openProvider()
    for (let n = 0; n < 5_000; n++)
      metrics.add('outcomes', 1, {
        consumer: 'c',
        'messaging.destination.name': 'q',
        outcome: 'applied',
        type: `type-${n}`,
      })
    for (const code of ['two\nlines', 'x'.repeat(500), '\u001b[31mred', 'snow ☃'])
      metrics.add('publishFailures', 1, { broker: 'kafka', code })
    const text = await exported()
    const series = text.split('\n').filter(line => line.startsWith('onceward_consumer_outcomes_total{'))
    assert.equal(series.length, 101)
    assert.match(text, /^onceward_consumer_outcomes_total\{.*type="other".*\} 4900$/m)
    assert.match(text, /^onceward_outbox_publish_failures_total\{broker="kafka",code="other"\} 4$/m)
    assert.ok(!text.includes('\u001b'))
  })

  test('labels counts of another mode as such', async () => {
    const { metrics, exported } = await openProvider()
    metrics.add('applied', 1, { consumer: 'c' })
    metrics.inMode('rebuild').add('applied', 2, { consumer: 'c' })
    const text = await exported()
    assert.match(text, /^onceward_consumer_applied_messages_total\{mode="live",consumer="c"\} 1$/m)
    assert.match(text, /^onceward_consumer_applied_messages_total\{mode="rebuild",consumer="c"\} 2$/m)
  })
})

function endOf({ name, unit }: MetricSpec): string {
  if (unit === 's') return 'seconds'
  if (unit === '1') return 'ratio'
  return unit === '' ? name.split('.').at(-1)! : plural(unit.slice(1, -1))
}
