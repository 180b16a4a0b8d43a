import { effects, examples, failure, inbox, logs, replay, seen, spine } from './proofs.ts'
import { met, prose, type RequirementsOf } from './requirement.ts'

/** Document 001, sections 21 to 38. */
export const second: RequirementsOf = {
  '21': [
    met('Duplicates and old events change nothing.', ['effects/projection/walk-key.ts'], effects.stale),
    met('A gap: try later.', ['effects/projection/waiting-room.ts'], effects.waitGap),
    met('A gap: fetch the missing state.', ['effects/projection/ask-source-of-truth.ts'], effects.repairGap),
    met('A gap: rebuild the projection.', ['effects/projection/record-rebuilds.ts'], effects.rebuildGap),
    met('A gap: park the key.', ['effects/projection/resolve-gaps.ts'], effects.parkGap),
    met('A gap: alert.', ['telemetry/alerts/effect-alerts.ts'], seen.fires),
  ],
  '22': [
    met(
      'A rebalance in the middle of work repeats no effect.',
      ['drivers/kafka/take-partitions.ts'],
      logs.rebalance,
    ),
    met('A former owner commits nothing.', ['engine/batch/log-fence.ts'], logs.zombie),
  ],
  '23': [
    met('One failing record costs only itself.', ['engine/batch/recover-attempt.ts'], spine.batchThrows),
    met('A batch may stop to keep the order.', ['engine/batch/recover-attempt.ts'], failure.partitionStops),
    met('Or continue past a record set aside.', ['engine/batch/conclude-batch.ts'], logs.setAside),
    met('Results are per record.', ['engine/batch/run-together.ts'], spine.verdicts),
  ],
  '24': [
    met(
      'Kafka to Kafka in its transactions.',
      ['drivers/kafka/client/transactions.ts'],
      logs.transformKilled,
    ),
    met('Its limits are stated.', ['drivers/kafka/transform.ts'], logs.transformPromise),
  ],
  '25': [
    met(
      'State and outgoing message commit together.',
      ['effects/publish/publish-in-transaction.ts'],
      effects.rolledBack,
    ),
    met('Incoming messages are recorded once.', ['drivers/postgres/sql/insert-markers.ts'], spine.again),
    met('Both together.', ['effects/publish/relay.ts'], examples.outboxToKafka),
    met('The relay keeps the order of a key.', ['effects/publish/in-key-order.ts'], effects.relayOrder),
  ],
  '26': [
    met('The matrix is part of the contract page.', ['review/page/promise.ts'], seen.pageMatrix),
    met('Kafka only: exactly once inside Kafka.', ['drivers/kafka/transform.ts'], seen.pageKafka),
    met(
      'Mail without keys: at most once or by hand.',
      ['effects/external/targets/email-target.ts'],
      examples.mailOnce,
    ),
  ],
  '27': [
    met('Claim, handle, complete, ack.', ['engine/batch/commit-batch.ts'], spine.once),
    met('Not retryable: dead letter, then ack.', ['engine/batch/decide-outcome.ts'], failure.decides),
    met('Retryable: later, with backoff.', ['engine/retry/pending-retries.ts'], spine.failsThenSucceeds),
  ],
  '28': [
    met('The envelope has id, key, payload and context.', ['contract/handler.ts'], seen.noClient),
    met('Handlers see no broker mechanics.', ['contract/handler.ts'], seen.noClient),
  ],
  '29': [
    met('Every named metric exists.', ['telemetry/catalogue.ts'], seen.catalogue),
    met(
      'Labels: topic, group, event type, reason, outcome.',
      ['telemetry/metric-spec.ts', 'engine/settle/message-counts.ts'],
      seen.exactCounts,
    ),
    met('Outcomes: eight of them.', ['engine/settle/count-decided.ts'], seen.exactCounts),
    met('Duration per message.', ['engine/settle/count-decided.ts'], seen.ownTime),
    met('Copies of dead letters are counted.', ['drivers/postgres/sql/hold-messages.ts'], seen.staged),
    met('Lag by partition.', ['drivers/kafka/source.ts'], logs.lag),
  ],
  '30': [
    met('Every named alert exists.', ['telemetry/alerts/alerts.ts'], seen.alerts),
    met('Each fires where it should, and not elsewhere.', ['telemetry/alerts/promql.ts'], seen.fires),
    met('Each metric is staged on real servers.', ['telemetry/catalogue.ts'], seen.eachMetric),
    met(
      'Each alert is staged on real servers, also those about messages that wait.',
      ['telemetry/unserved-gauge.ts'],
      seen.backlog,
    ),
    met('Thresholds come from the contract.', ['telemetry/alerts/objective-rules.ts'], seen.thresholds),
    met('The outbox has its alert.', ['telemetry/alerts/effect-alerts.ts'], seen.alerts),
    met('So has a producer without consumers.', ['telemetry/alerts/relay-rules.ts'], seen.relayRules),
    met('Each alert has a runbook.', ['telemetry/alerts/runbooks.ts'], seen.runbooks),
  ],
  '31': [
    met('Ack after the effect.', ['engine/settle/settlement.ts'], spine.crash),
    met('Crash before the ack.', ['crash-points.ts'], spine.crash),
    met('Duplicate.', ['engine/batch/claim-batch.ts'], spine.again),
    met('Retryable dependency failure.', ['engine/retry/breaker.ts'], failure.outage),
    met('Validation failure.', ['engine/batch/decide-outcome.ts'], failure.invalid),
    met('Deserialization failure.', ['message/read-message.ts'], failure.hostile),
    met('Poison.', ['engine/crash-suspects/suspect-runner.ts'], failure.killers),
    met('Out of order.', ['effects/projection/waiting-room.ts'], effects.waitGap),
    met('Partial failure of a batch.', ['engine/batch/recover-attempt.ts'], spine.batchThrows),
    met('Replay without repeated effects.', ['replay/campaign/campaign-session.ts'], replay.holes),
  ],
  '32': [met('The same event twice has one effect.', ['engine/batch/claim-batch.ts'], spine.again)],
  '33': [met('Commit, no ack, redelivery: one effect.', ['crash-points.ts'], spine.crash)],
  '34': [
    met('Every key of the template has an equivalent.', ['docs/policy.md'], seen.template),
    met('The template, translated, is a policy file.', ['contract/policy/read-policy.ts'], seen.templateFile),
    met('The template is accepted as printed.', ['contract/policy/template-import.ts'], seen.printedTemplate),
    met('Policy is per consumer.', ['contract/policy/with-policy.ts'], seen.ownPolicy),
    met('Replay may be forbidden for side effects.', ['contract/options/replay.ts'], replay.refused),
    met('Lag objectives are part of the policy.', ['contract/objectives.ts'], seen.objectives),
  ],
  '35': [met('Each anti-pattern has its answer.', ['docs/checklists.md'], seen.checklists)],
  '35.1': [met('Duplicates are expected.', ['engine/batch/claim-batch.ts'], spine.again)],
  '35.2': [met('Refused for critical messages.', ['review/rules/effects.ts'], seen.rules)],
  '35.3': [met('Attempts end.', ['engine/batch/decide-outcome.ts'], failure.decides)],
  '35.4': [met('An owner is required.', ['contract/options/consumer.ts'], seen.contractProblems)],
  '35.5': [
    met('Order is by key, by partition or none.', ['contract/options/order-and-settle.ts'], spine.matrix),
  ],
  '35.6': [met('Every target has a key and a policy.', ['contract/external-target.ts'], effects.noKeyTwice)],
  '35.7': [met('Reading never throws.', ['message/read-message.ts'], failure.unreadable)],
  '35.8': [met('The promise is about the effect.', ['review/page/promise.ts'], seen.pageKafka)],
  '35.9': [met('A lag alert exists for every consumer.', ['telemetry/alerts/flow-alerts.ts'], seen.alerts)],
  '35.10': [met('Campaigns suppress effects.', ['replay/campaign/campaign-session.ts'], replay.holes)],
  '36': [
    met('The choices are a guide.', ['docs/choosing-an-effect.md'], seen.whichChoice),
    met('Impossible choices are refused.', ['engine/consumer/assert-keepable.ts'], spine.matrix),
  ],
  '37': [met('Each question has its answer.', ['docs/checklists.md'], seen.answers)],
  '38': [
    met(
      'Lag, retries, dead letters and replay are observable.',
      ['telemetry/alerts/dashboard.ts'],
      seen.dashboard,
    ),
    met('A failed message stays visible.', ['telemetry/held-work.ts'], inbox.lists),
    met('A trace follows a message to the next consumer.', ['telemetry/traces.ts'], seen.traces),
  ],
  refs: [prose('Links.')],
}
