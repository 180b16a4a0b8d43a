import { effects, examples, failure, logs, parking, replay, retention, seen, spine } from './proofs.ts'
import { met, open, partly, prose, type RequirementsOf } from './requirement.ts'

/** Document 004, sections 16 to 32. */
export const second: RequirementsOf = {
  '16': [
    met('Classify, keep the context.', ['engine/retry/classify-failure.ts'], failure.classes),
    met(
      'Place, key, headers, payload and error go along.',
      ['drivers/postgres/sql/dead-letter-copy.ts'],
      failure.deadLetterOrigin,
    ),
    met('Passing it is a decision of the contract.', ['contract/failure-problems.ts'], failure.accepted),
    met('It can be replayed.', ['operations/parking/redrive-parked.ts'], parking.redrives),
  ],
  '17': [
    met('Bytes reach us before any decoder.', ['message/read-message.ts'], failure.unreadable),
    met('Unreadable batches of records are kept too.', ['drivers/log/broken-record.ts'], failure.brokenChunk),
    met(
      'Types and versions are checked against the contract.',
      ['message/read-message.ts'],
      failure.unlisted,
    ),
    met('The rate is monitored.', ['telemetry/alerts/failure-alerts.ts'], seen.alerts),
  ],
  '18': [
    met('A revoked partition gets no new work.', ['drivers/log/log-subscription.ts'], logs.revoked),
    met('Running work is waited for within bounds.', ['drivers/kafka/take-partitions.ts'], logs.revoked),
    met('Only completed offsets are committed.', ['drivers/kafka/committer.ts'], logs.rebalance),
    met('The next owner repeats no effect.', ['engine/batch/log-fence.ts'], logs.rebalanceWithEffect),
  ],
  '18.1': [
    met('Progress of a lost partition is forgotten.', ['drivers/log/partition-progress.ts'], logs.tracker),
  ],
  '19': [
    met(
      'Marker, change and outbox row in one transaction.',
      ['drivers/postgres/sql/write-outbox.ts'],
      effects.outbox,
    ),
    met('A failed offset commit repeats no effect.', ['engine/batch/claim-batch.ts'], spine.crash),
    met('A duplicate publishes nothing.', ['engine/batch/buffer-messages.ts'], effects.noSecondPublish),
    met(
      'Declared effects may publish in the same transaction.',
      ['effects/declared/after.ts'],
      effects.after,
    ),
  ],
  '20': [
    met(
      'The position can be written with the effect.',
      ['drivers/postgres/sql/advance-partitions.ts'],
      logs.withEffect,
    ),
    met('Reading begins there.', ['engine/consumer/checkpoints.ts'], logs.rebalanceWithEffect),
    met('Its costs are stated.', ['docs/logs.md'], seen.commitCosts),
  ],
  '21': [
    met('Input offsets and outputs are one transaction.', ['drivers/kafka/transform.ts'], logs.transform),
    met('It holds through kills.', ['drivers/kafka/exclusive-transactions.ts'], logs.transformKilled),
    met('What it does not cover is stated.', ['drivers/kafka/transform.ts'], logs.transformPromise),
    met(
      'Failures are classified and retried a bounded number of times, in order.',
      ['engine/transform/transform-batches.ts'],
      logs.transformPolicy,
    ),
    met(
      'Hostile records are dead letters in the transaction of their offset.',
      ['engine/transform/decide-transform.ts'],
      logs.transformHostile,
    ),
    met(
      'One bad deployment sets few records aside.',
      ['engine/transform/transform-brake.ts'],
      failure.transformBrake,
    ),
    met('Dead letters are once through kills.', ['drivers/kafka/transform-loop.ts'], logs.transformDies),
    met('An outage pauses it.', ['engine/transform/transform-batches.ts'], logs.transformOutage),
    met('Metrics are those of consumers.', ['runtime/transform-health.ts'], logs.transformMetrics),
    met(
      'Command, check and contract page as for consumers.',
      ['runtime/run-transform.ts'],
      logs.transformRun,
    ),
  ],
  '22': [
    met('Headers that change per delivery are refused.', ['review/rules/identity.ts'], seen.rules),
    met('Random and clock-based keys are found.', ['review/samples/try-identities.ts'], seen.tries),
    met('An entity id alone is found.', ['review/rules/samples.ts'], seen.entityId),
    met('An offset is a key only where declared.', ['contract/options/identity.ts'], logs.byPosition),
  ],
  '22.1': [
    met('Projection: aggregate and version.', ['effects/projection/walk-key.ts'], effects.sameVersion),
    met('Notification: request id.', ['effects/external/notification.ts'], effects.notification),
    met('Payment: attempt id.', ['effects/external/call-target.ts'], examples.ledgerRow),
    met('Audit: event id or position.', ['effects/audit/audit.ts'], effects.auditConflict),
    met('Workflow: command id.', ['effects/transition/read-request.ts'], effects.transitionOnce),
    met(
      'Change data capture: key and commit metadata.',
      ['review/samples/captured-change.ts'],
      seen.captured,
    ),
  ],
  '23': [
    met('Permanent markers.', ['contract/options/retention.ts'], retention.byRisk),
    met('A bounded window.', ['operations/retention/terms.ts'], retention.purges),
    met('A window shorter than a replay is refused.', ['contract/needed-retention.ts'], retention.refused),
    met(
      'Markers are rows with a unique constraint.',
      ['drivers/postgres/sql/insert-markers.ts'],
      spine.twenty,
    ),
    open('A set in Redis with a term.', 'The stores are PostgreSQL and memory.'),
    open('A compacted topic of seen ids.', 'A transform keeps no state, so repeats of a producer pass it.'),
    open('A local cache in front of the markers.', 'Every batch asks the database.'),
    open('A state store with a changelog.', 'A transform keeps no state.'),
  ],
  '24': [
    met('Versions decide, not clocks.', ['effects/projection/walk-key.ts'], effects.interleavings),
    met('Windows use event time.', ['effects/contribution/late-facts.ts'], effects.contribution),
  ],
  '25': [
    met('Crash before processing.', ['crash-points.ts'], spine.crash),
    met('Crash between effect and commit.', ['crash-points.ts'], spine.crash),
    met('Crash after the commit.', ['crash-points.ts'], spine.crash),
    met('Duplicate.', ['engine/batch/claim-batch.ts'], spine.again),
    met('Older after newer.', ['effects/projection/walk-key.ts'], examples.caseOlder),
    met('Poison.', ['engine/batch/conclude-batch.ts'], examples.casePoison),
    met('Database time-out.', ['engine/batch/recover-attempt.ts'], spine.databaseAway),
    met('Rebalance in the middle of a batch.', ['drivers/kafka/take-partitions.ts'], logs.rebalance),
    met('Out-of-order completion.', ['drivers/log/partition-progress.ts'], logs.outOfOrder),
    met('Replay from the first record.', ['replay/rebuild/swap-tables.ts'], examples.caseRebuilt),
    met('Every crash point has a scenario.', ['crash-points.ts'], seen.crashPoints),
    met('Schedules are searched by a simulator.', ['testing/simulator/run-simulation.ts'], spine.simulated),
    met('Every listed fault has a test.', ['docs/faults.md'], seen.faults),
  ],
  '26': [met('The example exists.', ['examples/02-case-projection'], examples.caseMoves)],
  '26.1': [
    met(
      'Event id, aggregate, version, type, state, time.',
      ['examples/02-case-projection'],
      examples.caseMoves,
    ),
  ],
  '26.2': [
    met(
      'What changed nothing is classified and recorded.',
      ['examples/02-case-projection'],
      examples.caseOlder,
    ),
  ],
  '26.3': [met('Offsets follow the handler.', ['engine/settle/settlement.ts'], logs.seenRunning)],
  '27': [met('Submitted work is never committed.', ['drivers/log/partition-progress.ts'], logs.seenRunning)],
  '28': [
    met('The contract page has every field.', ['review/page/contract-page.ts'], seen.page),
    met('The example of the document is a contract.', ['examples/02-case-projection'], examples.casePage),
    partly(
      'Each line of it, as printed, is on the page.',
      ['review/page/contract-page.ts'],
      seen.printedContract,
      'The name has underscores instead of hyphens, because two spellings of a permanent key would be two consumers.',
    ),
    met('It states behaviour, not hopes.', ['review/page/behaviour.ts'], seen.pageBehaviour),
  ],
  '29': [
    met('Each question has its answer.', ['docs/checklists.md'], seen.answers),
    met('Lag is per partition.', ['drivers/kafka/source.ts'], logs.lag),
    met('Duplicate, no-op and stale counts.', ['engine/settle/count-decided.ts'], effects.byReason),
    met('Shutdown drains.', ['engine/consumer/consumer.ts'], spine.drains),
  ],
  '30': [met('Each anti-pattern has its answer.', ['docs/checklists.md'], seen.checklists)],
  '30.1': [met('The page says where exactly once ends.', ['review/page/promise.ts'], seen.pageKafka)],
  '30.2': [
    met('A position must be declared as identity.', ['contract/options/identity.ts'], logs.byPosition),
  ],
  '30.3': [met('Duplicates are expected.', ['engine/batch/claim-batch.ts'], spine.again)],
  '30.4': [
    met('Facts are counted, not deliveries.', ['effects/contribution/add-facts.ts'], effects.factOnce),
  ],
  '30.5': [met('Commits follow completion.', ['drivers/log/partition-progress.ts'], logs.gapless)],
  '30.6': [
    met(
      'Dead letters can be inspected, fixed and replayed.',
      ['operations/parking/fix-parked.ts'],
      parking.fixes,
    ),
  ],
  '31': [
    met(
      'Processing a record twice leaves the state right.',
      ['engine/batch/claim-batch.ts'],
      replay.transitions,
    ),
    met('Crash windows are tested on purpose.', ['crash-points.ts'], seen.crashPoints),
  ],
  '32': [prose('Links.')],
}
