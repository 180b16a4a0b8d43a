import type { AlertName } from '../../packages/onceward/src/telemetry/alerts/alerts.ts'

/** The source documents' requirements for alerts. Alerts that only runbooks need are not listed. */
export const alertOrigins: Partial<Record<AlertName, readonly string[]>> = {
  OncewardLagRising: ['001 §30: consumer lag rising'],
  OncewardReadingTooSlow: ['003 §19: Kafka lag increasing, inbox pending low'],
  OncewardProcessingTooSlow: ['003 §19: Kafka lag low, inbox pending high'],
  OncewardOldestPending: ['003 §19: oldest pending age high'],
  OncewardApplySlow: ['001 §30: processing p99 high'],
  OncewardSourceIdle: ['001 §30: partition idle unexpectedly'],
  OncewardPartitionIdle: ['001 §30: partition idle unexpectedly'],
  OncewardPartitionStuck: ['001 §30: poison message detected (partition may block)'],
  OncewardDuplicateSpike: ['001 §30: duplicate rate spike', '003 §19: duplicate rate spike'],
  OncewardConflict: ['000 §22: consumer.duplicate_conflicts.total'],
  OncewardDeadLetters: ['001 §30: DLQ rate > 0 for critical topic'],
  OncewardRetriesExhausted: ['001 §30: retry exhausted'],
  OncewardPoison: ['001 §30: poison message detected'],
  OncewardUnreadable: ['001 §30: deserialization failure'],
  OncewardCorruption: ['004 §15: corruption'],
  OncewardVersionGap: ['001 §21: a gap'],
  OncewardQuarantined: ['003 §19: quarantined count increasing'],
  OncewardLeasesExpired: ['003 §19: claim expired count increasing'],
  OncewardOffsetCommitFailures: [
    '001 §30: offset commit failures',
    '000 §22: consumer.ack.after.commit.failures',
  ],
  OncewardOutboxGrowing: ['001 §30: outbox pending growing'],
}
