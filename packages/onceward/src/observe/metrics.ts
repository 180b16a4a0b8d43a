import {
  type BatchObservableResult,
  type Meter,
  type ObservableResult,
  metrics as openTelemetry,
} from '@opentelemetry/api'
import type { PartitionLag } from '../contracts/source.ts'

/** The instruments of a consumer, one set for all consumers of a process. Names follow seed and semantic conventions. */
export interface Metrics {
  delivered(consumer: string, count: number, redelivered: number): void
  decided(consumer: string, outcome: string, count: number): void
  conflicts(consumer: string, count: number): void
  /** What a declared effect said of messages, by the words it has declared. */
  results(consumer: string, code: string, count: number): void
  inboxInsertSeconds(consumer: string, seconds: number): void
  applySeconds(consumer: string, seconds: number): void
  settleMissed(consumer: string, count: number): void
  externalSuppressed(consumer: string, reason: 'duplicate' | 'mode', count: number): void
  publishSuppressed(consumer: string, count: number): void
  published(broker: string, count: number): void
  publishFailed(broker: string, code: string): void
  /** As `watchLag`, for the part of the outbox that goes to one broker. */
  watchOutbox(broker: string, read: () => OutboxLag): () => void
  externalCall(target: string, result: string): void
  /** Work taken from workers that let their lease run out; work lost to others in the same way. */
  claimsExpired(consumer: string, count: number): void
  claimsLost(consumer: string, count: number): void
  /** Age in seconds of the oldest held work that is not done, asked whenever the metrics are collected, until the result is called. */
  watchFreshness(consumer: string, read: () => number | null): () => void
  /** The source was paused because the downstream is away. */
  paused(consumer: string): void
  /** As `watchLag`: whether it is paused now. */
  watchPaused(consumer: string, read: () => boolean): () => void
  /** Asks `read` whenever the metrics are collected, until the result is called. */
  watchLag(consumer: string, read: () => readonly PartitionLag[]): () => void
}

/** What waits in the outbox, as a relay last saw it. */
export interface OutboxLag {
  /** Age of the oldest row; 0 when there is none. */
  readonly oldestSeconds: number
  /** Keys, and rows without one, that wait behind a failure. */
  readonly failing: number
}

export function createMetrics(meter: Meter = openTelemetry.getMeter('onceward')): Metrics {
  const count = (name: string, description: string) => meter.createCounter(name, { description })
  const seconds = (name: string, description: string) =>
    meter.createHistogram(name, { description, unit: 's' })

  const deliveries = count('consumer.deliveries', 'Deliveries received from the broker')
  const redelivered = count('consumer.redelivered', 'Deliveries the broker marked as redelivered')
  const processed = count('consumer.processed', 'Messages whose effect was applied for the first time')
  const duplicates = count('consumer.duplicates', 'Duplicates skipped safely')
  const outcomes = count('consumer.outcomes', 'Deliveries by outcome')
  const effectResults = count('consumer.effect.results', 'Messages by what the declared effect said of them')
  const duplicateConflicts = count('consumer.duplicate_conflicts', 'Same identity, other content')
  const insertLatency = seconds('consumer.inbox.insert.latency', 'Time to claim a batch in the inbox')
  const applyLatency = seconds('consumer.business.apply.latency', 'Time the handlers of a batch took')
  const missed = count(
    'consumer.ack.after.commit.failures',
    'Durable effects the broker could not be told of',
  )
  const suppressed = count('external.suppressed', 'External effects not requested again')
  const calls = count('external.calls', 'Calls to external targets by result')

  const expired = count('consumer.claims.expired', 'Held work taken over because its lease ran out')
  const lost = count('consumer.claims.lost', 'Held work lost to another worker because the lease ran out')
  const oldest = meter.createObservableGauge('consumer.held.oldest', {
    description: 'Age of the oldest held work that is not done',
    unit: 's',
  })
  const unpublished = count('publish.suppressed', 'Messages not published because of the mode')
  const published = count('outbox.published', 'Messages a broker has confirmed')
  const publishFailures = count('outbox.publish.failures', 'Messages a broker did not take, by error code')
  const outboxOldest = meter.createObservableGauge('outbox.oldest', {
    description: 'Age of the oldest message that is not published',
    unit: 's',
  })
  const outboxFailing = meter.createObservableGauge('outbox.failing', {
    description: 'Keys that wait behind a message the broker does not take',
  })

  const pauses = count('consumer.pauses', 'Times the source was paused because the downstream was away')
  const pausedNow = meter.createObservableGauge('consumer.paused', {
    description: '1 while the source is paused because the downstream is away',
  })

  const lag = meter.createObservableGauge('consumer.lag', {
    description: 'Records of a partition that are not applied yet',
  })
  const effectLag = meter.createObservableGauge('consumer.effect.lag', {
    description: 'Age of the oldest record received and not applied',
    unit: 's',
  })

  return {
    delivered(consumer, n, again) {
      deliveries.add(n, { consumer })
      if (again > 0) redelivered.add(again, { consumer })
    },
    decided(consumer, outcome, n) {
      outcomes.add(n, { consumer, outcome })
      if (outcome === 'applied') processed.add(n, { consumer })
      if (outcome === 'duplicate' || outcome === 'already held') duplicates.add(n, { consumer })
    },
    results: (consumer, code, n) => effectResults.add(n, { consumer, code }),
    conflicts: (consumer, n) => duplicateConflicts.add(n, { consumer }),
    inboxInsertSeconds: (consumer, s) => insertLatency.record(s, { consumer }),
    applySeconds: (consumer, s) => applyLatency.record(s, { consumer }),
    settleMissed: (consumer, n) => missed.add(n, { consumer }),
    externalSuppressed: (consumer, reason, n) => suppressed.add(n, { consumer, reason }),
    publishSuppressed: (consumer, n) => unpublished.add(n, { consumer }),
    published: (broker, n) => published.add(n, { broker }),
    publishFailed: (broker, code) => publishFailures.add(1, { broker, code }),
    watchOutbox(broker, read) {
      const observe = (result: BatchObservableResult) => {
        const { oldestSeconds, failing } = read()
        result.observe(outboxOldest, oldestSeconds, { broker })
        result.observe(outboxFailing, failing, { broker })
      }
      meter.addBatchObservableCallback(observe, [outboxOldest, outboxFailing])
      return () => meter.removeBatchObservableCallback(observe, [outboxOldest, outboxFailing])
    },
    externalCall: (target, result) => calls.add(1, { target, result }),
    claimsExpired: (consumer, n) => expired.add(n, { consumer }),
    claimsLost: (consumer, n) => lost.add(n, { consumer }),
    watchFreshness(consumer, read) {
      const observe = (result: ObservableResult) => result.observe(read() ?? 0, { consumer })
      oldest.addCallback(observe)
      return () => oldest.removeCallback(observe)
    },
    paused: consumer => pauses.add(1, { consumer }),
    watchPaused(consumer, read) {
      const observe = (result: ObservableResult) => result.observe(read() ? 1 : 0, { consumer })
      pausedNow.addCallback(observe)
      return () => pausedNow.removeCallback(observe)
    },
    watchLag(consumer, read) {
      const observe = (result: BatchObservableResult) => {
        for (const { partition, behind, oldestMs } of read()) {
          if (behind !== null) result.observe(lag, behind, { consumer, partition })
          if (oldestMs !== null)
            result.observe(effectLag, Math.max(0, Date.now() - oldestMs) / 1000, { consumer, partition })
        }
      }
      meter.addBatchObservableCallback(observe, [lag, effectLag])
      return () => meter.removeBatchObservableCallback(observe, [lag, effectLag])
    },
  }
}
