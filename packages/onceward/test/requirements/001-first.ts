import { effects, examples, failure, inbox, logs, parking, seen, spine } from './proofs.ts'
import { met, type RequirementsOf } from './requirement.ts'

/** Document 001, sections 1 to 20. */
export const first: RequirementsOf = {
  intro: [
    met('A promise names its scope and its failure boundary.', ['review/page/promise.ts'], seen.pageMatrix),
  ],
  '1': [
    met(
      'The default is at least once with one effect.',
      ['contract/options/order-and-settle.ts'],
      spine.once,
    ),
    met('Every mode states what it may lose or repeat.', ['review/page/promise.ts'], seen.pageMatrix),
  ],
  '2': [
    met(
      'Acknowledging first exists and loses what was in flight.',
      ['engine/settle/settlement.ts'],
      logs.before,
    ),
    met(
      'It needs a reason, and money and regulatory refuse it.',
      ['contract/settle-problems.ts'],
      seen.contractRefused,
    ),
  ],
  '3': [
    met('A message is finished only after its effect.', ['engine/settle/settlement.ts'], spine.crash),
    met('A redelivery has no second effect.', ['engine/batch/claim-batch.ts'], spine.again),
  ],
  '4': [
    met(
      'Broker, stream, database, mail and workflow scopes differ.',
      ['review/page/promise.ts'],
      seen.pageMatrix,
    ),
    met(
      'A broker transaction does not cover calls outside.',
      ['drivers/kafka/transform.ts'],
      logs.transformPromise,
    ),
  ],
  '5': [
    met(
      'Processed messages have a table.',
      ['drivers/postgres/migrations/0001-first-set/markers.ts'],
      examples.inboxRow,
    ),
    met('Unique constraints and keys.', ['drivers/postgres/sql/insert-business-keys.ts'], spine.oneKey),
    met('Upserts and versions.', ['effects/projection/table-statements.ts'], effects.projection),
    met('Sequence checks.', ['effects/projection/walk-key.ts'], effects.waitGap),
    met('Idempotency of the provider.', ['effects/external/call-target.ts'], effects.storedKey),
    met('Write and offset in one transaction.', ['engine/batch/log-fence.ts'], logs.withEffect),
    met('Outbox and inbox.', ['effects/publish/relay.ts'], examples.outboxToKafka),
  ],
  '6': [
    met('Before processing: declared, with its loss.', ['contract/settle-problems.ts'], logs.before),
    met('After the transaction: the default.', ['engine/settle/settlement.ts'], spine.crash),
    met('With output records: Kafka to Kafka.', ['drivers/kafka/transform.ts'], logs.transform),
    met(
      'After a call outside: the call has a key.',
      ['effects/external/dispatch-effect.ts'],
      effects.dispatcherKilled,
    ),
  ],
  '7': [
    met('An offset commit means durable work.', ['drivers/log/partition-progress.ts'], logs.seenRunning),
    met(
      'A batch may stop at its failing record.',
      ['engine/batch/recover-attempt.ts'],
      failure.partitionStops,
    ),
    met('Records may be decided one by one.', ['engine/batch/run-each.ts'], spine.throws),
    met(
      'A failed record may be set aside, and the rest continues.',
      ['engine/batch/conclude-batch.ts'],
      logs.setAside,
    ),
    met('Order by partition is kept.', ['engine/consumer/lanes.ts'], logs.partitionOrder),
  ],
  '8': [
    met('The contract states the order it needs.', ['contract/options/order-and-settle.ts'], spine.matrix),
    met('A partition may be blocked.', ['engine/retry/pending-retries.ts'], failure.partitionStops),
    met('A parked message holds its key only.', ['drivers/postgres/sql/blocked-keys.ts'], failure.behindHead),
    met('Gaps in versions are detected.', ['effects/projection/resolve-gaps.ts'], effects.waitGap),
    met(
      'A key waits in a retry topic or in the store.',
      ['engine/retry/write-retry-copies.ts'],
      failure.retryTopic,
    ),
    met('A projection tolerates disorder.', ['effects/projection/apply-facts.ts'], effects.interleavings),
    met(
      'Order beyond a partition is refused at start.',
      ['engine/consumer/assert-keepable.ts'],
      spine.cannotOrder,
    ),
    met('Two processes keep the order of a key.', ['engine/consumer/lanes.ts'], logs.keyOrder),
    met(
      'A redriven key returns to the live flow in order.',
      ['operations/parking/redrive-parked.ts'],
      parking.keepsOrder,
    ),
  ],
  '9': [
    met('Producer retries and broker redeliveries.', ['engine/batch/claim-batch.ts'], spine.again),
    met('Rebalances.', ['drivers/kafka/take-partitions.ts'], logs.rebalance),
    met('Replays, redrives and backfills.', ['operations/parking/redrive-parked.ts'], parking.neverTwice),
    met('Repeats of the outbox relay.', ['effects/publish/relay.ts'], effects.relayKilled),
    met('Ambiguous transactions.', ['engine/batch/batch-runner.ts'], spine.lostCommit),
    met(
      'Projection: upsert by id and version.',
      ['effects/projection/table-statements.ts'],
      effects.sameVersion,
    ),
    met('Mail: a notification id.', ['effects/external/notification.ts'], effects.notification),
    met('External call: a provider key.', ['effects/external/call-target.ts'], effects.storedKey),
    met('Audit row: unique by event id.', ['effects/audit/audit.ts'], effects.auditRow),
    met(
      'Workflow: state and version are compared.',
      ['effects/transition/classify.ts'],
      effects.transitionOnce,
    ),
    met(
      'Search index and cache: deterministic id or overwrite by version.',
      ['effects/external/targets/custom-target.ts'],
      effects.sinks,
    ),
  ],
  '10': [
    met('The claim is atomic.', ['engine/batch/claim-batch.ts'], spine.racing),
    met('The id is stable.', ['review/samples/try-identities.ts'], seen.tries),
    met('A finished message is ignored and counted.', ['engine/settle/count-decided.ts'], seen.exactCounts),
    met(
      'A failed message is retried as the policy says.',
      ['engine/batch/decide-outcome.ts'],
      failure.decides,
    ),
  ],
  '11': [
    met('Applied, ignored, stale, duplicate.', ['ports/markers.ts'], spine.verdicts),
    met('In progress: stored under a lease.', ['work/held-source.ts'], inbox.extended),
    met('Retryable: kept with its next time.', ['drivers/postgres/sql/hold-messages.ts'], inbox.putsOff),
    met('Terminal: dead-lettered or quarantined.', ['engine/batch/decide-outcome.ts'], failure.decides),
    met('Parked: for an operator.', ['operations/parking/list-parked.ts'], parking.groups),
  ],
  '12': [
    met('A stale claim is taken over.', ['drivers/postgres/sql/lease-work.ts'], inbox.takesOver),
    met('A late owner is fenced by its epoch.', ['drivers/postgres/sql/confirm-leases.ts'], inbox.fenced),
    met(
      'An uncommitted claim is waited for within bounds.',
      ['engine/batch/claim-batch.ts'],
      spine.uncommitted,
    ),
    met('Claims can be inspected and released.', ['operations/work/release-held.ts'], inbox.releases),
  ],
  '13': [
    met('Marker and effect commit together.', ['engine/batch/commit-batch.ts'], spine.together),
    met('The offset is committed afterwards.', ['engine/settle/settlement.ts'], logs.seenRunning),
    met('A redelivery after the commit is skipped.', ['engine/batch/claim-batch.ts'], spine.crash),
  ],
  '14': [
    met('Provider key.', ['effects/external/call-target.ts'], effects.sameKey),
    met('Durable intent, sent later.', ['effects/external/dispatcher.ts'], effects.dispatcherKilled),
    met('Unique notification id.', ['effects/external/notification.ts'], effects.occasion),
    met(
      'A duplicate may be accepted or excluded, by policy.',
      ['contract/external-target.ts'],
      effects.atMostOnce,
    ),
    met('Manual reconciliation.', ['operations/ledger-actions.ts'], effects.reconciles),
  ],
  '15': [
    met('Seven kinds of failure are distinguished.', ['engine/retry/classify-failure.ts'], failure.classes),
    met('Retries are bounded, with backoff.', ['engine/retry/retry-delay.ts'], failure.delay),
    met('Jitter.', ['engine/retry/retry-delay.ts'], failure.jitter),
    met(
      'A transient error is not dead-lettered at once.',
      ['engine/batch/decide-outcome.ts'],
      failure.decides,
    ),
    met('An outage of a dependency costs no attempts.', ['engine/retry/breaker.ts'], failure.outage),
    met(
      'Lists of retryable and other codes are read.',
      ['contract/policy/retry-import.ts'],
      seen.retryImport,
    ),
    met(
      'A code that is not retryable sets its message aside.',
      ['engine/batch/decide-outcome.ts'],
      failure.followsClass,
    ),
    met(
      'The retry section of the template can be written.',
      ['contract/options/failure.ts'],
      failure.template,
    ),
  ],
  '16': [
    met('Blocking in place keeps the order.', ['engine/retry/pending-retries.ts'], logs.retriedKey),
    met('Retry topics with delays.', ['drivers/kafka/retry-topic.ts'], failure.retryTopic),
    met('Retry queues with delays.', ['drivers/rabbitmq/retry-levels.ts'], failure.retryQueue),
    met('Deferring in the store keeps the order of keys.', ['work/held-source.ts'], inbox.keyOrder),
    met('Parking prevents endless blocking.', ['engine/batch/conclude-batch.ts'], logs.setAside),
    met('What a mode gives up is stated.', ['docs/guarantees.md'], seen.givesUp),
  ],
  '17': [
    met(
      'Original place, key, headers and bytes.',
      ['drivers/postgres/sql/dead-letter-copy.ts'],
      failure.keptWhole,
    ),
    met(
      'Consumer, reason, class, exception class and attempts.',
      ['drivers/postgres/sql/dead-letter-copy.ts'],
      failure.copiesReadBack,
    ),
    met(
      'First and last failure time, schema version, correlation id, owner.',
      ['drivers/postgres/sql/dead-letter-copy.ts', 'engine/batch/held-identities.ts'],
      failure.copiesReadBack,
    ),
    met(
      'The attempts are the true number of tries, for each way a message ends.',
      ['engine/batch/decide-outcome.ts'],
      failure.trueTries,
    ),
    met(
      'The words of other tools are beside ours.',
      ['drivers/postgres/sql/dead-letter-headers.ts'],
      failure.springHeaders,
    ),
    met(
      'Exhausted messages reach the named dead-letter destination.',
      ['engine/batch/decide-outcome.ts'],
      failure.copiesReadBack,
    ),
    met('An owner is required.', ['contract/options/consumer.ts'], seen.contractProblems),
    met('An alert and a replay tool.', ['operations/parking/redrive-parked.ts'], parking.redrives),
  ],
  '18': [
    met('Inspect.', ['operations/parking/show-parked.ts'], parking.sees),
    met('Classify.', ['operations/parking/group-parked.ts'], parking.groups),
    met('Fix payload or state.', ['operations/parking/fix-parked.ts'], parking.fixes),
    met('Replay.', ['operations/parking/redrive-parked.ts'], parking.redrives),
    met('Skip with an audit.', ['operations/parking/skip-parked.ts'], parking.skips),
    met('Delete with an approval.', ['operations/parking/delete-parked.ts'], parking.approval),
    met('A runbook.', ['telemetry/alerts/runbooks/held.ts'], examples.parkingDrill),
    met('Every held message has one reason.', ['telemetry/attention-reason.ts'], failure.reasons),
    met(
      'The audit cannot be changed.',
      ['drivers/postgres/migrations/0001-first-set/audit.ts'],
      parking.audit,
    ),
  ],
  '19': [
    met(
      'A message that crashes its process is found.',
      ['engine/crash-suspects/suspect-groups.ts'],
      failure.killers,
    ),
    met('Unknown types and versions are set aside.', ['message/read-message.ts'], failure.unlisted),
    met('The consumer is not blocked.', ['engine/batch/conclude-batch.ts'], logs.otherMoves),
    met('No message id in metrics.', ['telemetry/bounded-labels.ts'], seen.bounded),
    met('The same failure several times is poison.', ['contract/failure-rules.ts'], failure.decides),
    met('One bad deployment does not park a backlog.', ['engine/retry/brakes.ts'], failure.braked),
    met('A handler that ends or blocks its process is isolated.', ['runtime/supervise.ts'], failure.isolated),
  ],
  '20': [
    met('Unreadable bytes get a row and an outcome.', ['message/read-message.ts'], failure.unreadable),
    met('Safe metadata is logged.', ['engine/settle/log-decided.ts'], seen.logLines),
    met('Producer and owner are alerted.', ['telemetry/alerts/failure-alerts.ts'], seen.producer),
    met('No offset passes without a record.', ['engine/batch/conclude-batch.ts'], failure.brokenChunk),
    met('A deterministic failure is not retried.', ['engine/batch/decide-outcome.ts'], failure.decides),
    met('Wrong encodings, sizes and nesting are covered.', ['message/limits.ts'], failure.hostile),
    met(
      'A missing schema id is unreadable, with its bytes.',
      ['schema/wire/confluent.ts'],
      failure.noSchemaId,
    ),
    met(
      'An unknown schema keeps the message until it is known.',
      ['operations/parking/schema-release.ts'],
      failure.unknownSchema,
    ),
    met('Incompatible schemas fail a build.', ['review/rules/schema.ts'], failure.schemaGate),
  ],
}
