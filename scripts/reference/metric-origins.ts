import type { MetricKey } from '../../packages/onceward/src/telemetry/catalogue.ts'
import type { Label } from '../../packages/onceward/src/telemetry/metric-spec.ts'

/**
 * A name of the source documents that a metric answers to, and the labels that narrow it down to exactly
 * that.
 */
export interface Origin {
  readonly from: '000 §22' | '001 §29' | '003 §19'
  readonly name: string
  readonly where?: Partial<Record<Label, string>>
}

const named =
  (from: Origin['from']) =>
  (name: string, where?: Origin['where']): Origin => ({ from, name, ...(where && { where }) })
const [idempotency, delivery, state] = [named('000 §22'), named('001 §29'), named('003 §19')]

/** Metrics that the source documents ask for, by their key in the catalogue. */
export const metricOrigins: Partial<Record<MetricKey, readonly Origin[]>> = {
  deliveries: [
    idempotency('consumer.deliveries.total'),
    delivery('consumer.messages.received.total'),
    state('consumer.records.polled.count'),
  ],
  redelivered: [idempotency('consumer.redelivered.total')],
  outcomes: [delivery('consumer.messages.processed.total')],
  setAside: [state('consumer.inbox.quarantined.count', { outcome: 'quarantined' })],
  applied: [idempotency('consumer.processed.total'), state('consumer.inbox.processed.count')],
  duplicates: [
    idempotency('consumer.duplicates.total'),
    delivery('consumer.duplicates.total'),
    state('consumer.inbox.duplicate.count'),
  ],
  conflicts: [idempotency('consumer.duplicate_conflicts.total')],
  inserts: [state('consumer.inbox.insert.count')],
  replayed: [state('consumer.replay.mode.count')],
  skips: [state('consumer.effect.idempotent_skip.count')],
  failures: [state('consumer.effect.failure.count')],
  retries: [delivery('consumer.retries.total'), state('consumer.inbox.retryable_failed.count')],
  deadLetters: [delivery('consumer.dlq.total')],
  unreadable: [delivery('consumer.deserialization.failures.total')],
  poison: [delivery('consumer.poison.detected.total')],
  insertLatency: [idempotency('consumer.inbox.insert.latency')],
  applyLatency: [idempotency('consumer.business.apply.latency')],
  processDuration: [
    delivery('consumer.processing.duration'),
    state('consumer.inbox.processing.duration.ms', { stage: 'work' }),
  ],
  lag: [delivery('consumer.lag')],
  positionCommits: [
    delivery('consumer.offset.commits.total'),
    state('consumer.offset.commit.success.count', { status: 'success' }),
    state('consumer.offset.commit.failure.count', { status: 'failure' }),
  ],
  settleMissed: [idempotency('consumer.ack.after.commit.failures')],
  leases: [state('consumer.inbox.claimed.count')],
  leasesExpired: [state('consumer.inbox.claim.expired.count')],
  heldOldest: [state('consumer.inbox.oldest_pending_age.seconds')],
}
