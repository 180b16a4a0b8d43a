import { effects, examples, failure, logs, replay, seen, spine } from './proofs.ts'
import { met, prose, type RequirementsOf } from './requirement.ts'

/** Document 004, sections 1 to 15. */
export const first: RequirementsOf = {
  intro: [
    met('A consumer is right with respect to its contract.', ['review/page/contract-page.ts'], seen.page),
  ],
  '1': [prose('The parts of the skill.')],
  '1.1': [
    met('What may be lost or repeated is stated.', ['review/page/promise.ts'], seen.pageMatrix),
    met('Commits follow the durable effect.', ['engine/settle/settlement.ts'], logs.seenRunning),
    met('Duplicates are safe.', ['engine/batch/claim-batch.ts'], spine.again),
    met('Unfinished records are not passed.', ['drivers/log/partition-progress.ts'], logs.gapless),
    met('Errors have classes.', ['engine/retry/classify-failure.ts'], failure.classes),
    met('Replay is predictable.', ['replay/campaign/preview-campaign.ts'], replay.holes),
    met('Parallel work keeps order and offsets.', ['engine/consumer/lanes.ts'], logs.lanes),
  ],
  '2': [
    met('Fetch, process, make durable, commit.', ['engine/batch/commit-batch.ts'], spine.crash),
    met('An error policy is part of it.', ['engine/batch/decide-outcome.ts'], failure.decides),
  ],
  '3': [prose('Heading of the four semantics.')],
  '3.1': [
    met(
      'Only where loss is acceptable, with a reason.',
      ['contract/settle-problems.ts'],
      seen.contractRefused,
    ),
  ],
  '3.2': [met('Process first, then commit.', ['engine/settle/settlement.ts'], spine.once)],
  '3.3': [
    met(
      'Key, constraint, upsert, version, transition, ledger.',
      ['effects/declared/respond.ts'],
      effects.interleavings,
    ),
    met('Effect and marker in one transaction.', ['engine/batch/commit-batch.ts'], spine.together),
  ],
  '3.4': [
    met('Kafka in and out only.', ['drivers/kafka/transform.ts'], logs.transformKilled),
    met('The limit is stated.', ['review/page/promise.ts'], seen.pageKafka),
  ],
  '4': [
    met('Immutable row: unique event id.', ['effects/audit/audit.ts'], effects.auditConflict),
    met('Projection: rising version.', ['effects/projection/walk-key.ts'], effects.stale),
    met('Balance: ledger and derived sum.', ['effects/contribution/balances.ts'], effects.balance),
    met('Mail: notification id and ledger.', ['effects/external/notification.ts'], examples.mailOnce),
    met(
      'Payment: provider key and local transaction.',
      ['effects/external/dispatcher.ts'],
      examples.chargedOnce,
    ),
    met('Workflow: guard and id.', ['effects/transition/classify.ts'], effects.transitionOnce),
    met('Another event: outbox or transaction.', ['effects/publish/relay.ts'], effects.outbox),
    met('The choice is a guide.', ['docs/choosing-an-effect.md'], seen.whichEffect),
  ],
  '5': [prose('Heading of pattern 1.')],
  '5.1': [met('Commit before processing.', ['engine/settle/settlement.ts'], logs.before)],
  '5.2': [met('Its use needs a declared reason.', ['contract/settle-problems.ts'], seen.contractRefused)],
  '5.3': [
    met('A crash loses what was in flight, and nothing else.', ['engine/settle/settlement.ts'], logs.before),
  ],
  '6': [prose('Heading of pattern 2.')],
  '6.1': [met('Commit after the whole batch is durable.', ['engine/settle/settlement.ts'], logs.seenRunning)],
  '6.2': [met('A failed commit repeats no effect.', ['engine/batch/claim-batch.ts'], spine.lostCommit)],
  '6.3': [
    met('A read model refuses older versions.', ['effects/projection/table-statements.ts'], effects.stale),
  ],
  '7': [met('Every event has a stable id.', ['message/read-identities.ts'], spine.identities)],
  '7.1': [
    met(
      'Marker by consumer and id, with its position.',
      ['drivers/postgres/migrations/0001-first-set/markers.ts'],
      examples.inboxRow,
    ),
  ],
  '7.2': [met('Marker and effect in one transaction.', ['engine/batch/commit-batch.ts'], spine.together)],
  '7.3': [met('Four crash points are safe.', ['crash-points.ts'], spine.crash)],
  '8': [met('A projection is updated by version.', ['effects/projection/projection.ts'], effects.projection)],
  '8.1': [met('Versions only rise.', ['effects/projection/walk-key.ts'], effects.interleavings)],
  '8.2': [
    met(
      'Duplicates, replays, late events, crashes, restarts.',
      ['effects/projection/apply-facts.ts'],
      effects.interleavings,
    ),
  ],
  '8.3': [
    met('Missing events are detected as gaps.', ['effects/projection/resolve-gaps.ts'], effects.waitGap),
    met('A bad partition key is found.', ['drivers/kafka/sample-keys.ts'], logs.keySkew),
  ],
  '9': [
    met(
      'Entries with a unique event id; the balance is derived.',
      ['effects/contribution/contribution.ts'],
      effects.balance,
    ),
  ],
  '9.1': [
    met('Corrections are entries.', ['effects/contribution/correct-facts.ts'], effects.reversal),
    met('The balance can be recounted.', ['effects/contribution/contribution.ts'], effects.recount),
  ],
  '10': [
    met(
      'A local attempt with a stable key first.',
      ['drivers/postgres/sql/record-intents.ts'],
      effects.askedOnce,
    ),
    met('The provider gets the key.', ['effects/external/call-target.ts'], effects.storedKey),
    met('The answer is stored.', ['drivers/postgres/ledger/record-results.ts'], effects.dispatcherKilled),
    met('The offset follows the local commit.', ['engine/settle/settlement.ts'], examples.beforeAck),
  ],
  '10.1': [
    met('Without keys: a pending state.', ['effects/external/decide-result.ts'], effects.atMostOnce),
    met('A reconciliation query.', ['effects/external/dispatch-effect.ts'], effects.queryFirst),
    met('A manual path.', ['operations/ledger-actions.ts'], effects.manual),
  ],
  '11': [
    met('State and version guard a transition.', ['effects/transition/statements.ts'], effects.transition),
    met('Duplicate and stale.', ['effects/transition/classify.ts'], effects.transitionOnce),
    met('Illegal.', ['effects/transition/classify.ts'], effects.illegal),
    met('Missing and out of order.', ['effects/transition/classify.ts'], effects.outOfOrder),
    met('Corruption.', ['effects/transition/classify.ts'], effects.corruption),
    met('Each reason is counted.', ['telemetry/catalogue.ts'], effects.byReason),
  ],
  '12': [
    met('Order within a partition is kept.', ['engine/consumer/lanes.ts'], logs.partitionOrder),
    met('The key of the entity is sampled.', ['drivers/kafka/sample-keys.ts'], logs.keySkew),
    met(
      'Added partitions do not break the order of keys.',
      ['drivers/kafka/until-drained.ts'],
      logs.addedPartitions,
    ),
  ],
  '12.1': [
    met(
      'Nothing is committed for work that still runs.',
      ['drivers/log/partition-progress.ts'],
      logs.seenRunning,
    ),
  ],
  '12.2': [
    met('Partitions run in parallel, each in order.', ['engine/consumer/lanes.ts'], logs.sharedPartitions),
  ],
  '13': [
    met('Only the contiguous run is committed.', ['drivers/log/partition-progress.ts'], logs.outOfOrder),
  ],
  '13.1': [
    met(
      'Assignment, revocation, failures and bounded memory.',
      ['drivers/log/partition-progress.ts'],
      logs.trackerMemory,
    ),
  ],
  '14': [
    met('A failed record stops its partition only.', ['engine/batch/recover-attempt.ts'], logs.otherMoves),
  ],
  '14.1': [
    met('Each partition commits its own progress.', ['drivers/kafka/committer.ts'], failure.partitionStops),
  ],
  '15': [
    met('Transient: retry with backoff.', ['engine/retry/retry-delay.ts'], failure.delay),
    met('Overload: backoff, breaker, pause.', ['engine/retry/breaker.ts'], failure.breaker),
    met('Validation: dead letter.', ['engine/batch/decide-outcome.ts'], failure.decides),
    met('Poison: set aside.', ['engine/batch/decide-outcome.ts'], failure.hostile),
    met(
      'Configuration: stop and alert, where the contract says so.',
      ['engine/retry/halt-cause.ts'],
      failure.refusedHalts,
    ),
    met(
      'Otherwise the consumer pauses and keeps every message.',
      ['engine/retry/breaker.ts'],
      failure.refusedPauses,
    ),
    met(
      'Business conflict: success, where the contract says so.',
      ['engine/batch/decide-outcome.ts'],
      failure.conflictIgnored,
    ),
    met(
      'Corruption: quarantine and page the owner.',
      ['telemetry/alerts/failure-alerts.ts'],
      seen.corruption,
    ),
    met('Deadlocks cost no attempt.', ['engine/batch/recover-attempt.ts'], spine.deadlocks),
  ],
}
