import {
  effects,
  evidence,
  examples,
  failure,
  inbox,
  logs,
  parking,
  replay,
  retention,
  seen,
  spine,
} from './proofs.ts'
import { met, partly, type RequirementsOf } from './requirement.ts'

/** Document 003, sections 1 to 14. */
export const first: RequirementsOf = {
  intro: [
    met(
      'Position and effect state are two things.',
      ['drivers/postgres/sql/advance-partitions.ts'],
      logs.neverLeads,
    ),
    met(
      'A redelivery months later is still recognised.',
      ['engine/batch/horizon-guard.ts'],
      retention.behindHorizon,
    ),
  ],
  '1': [met('A crash between write and commit repeats nothing.', ['crash-points.ts'], spine.crash)],
  '2': [
    met(
      'The producer records change and fact together.',
      ['effects/publish/publish-in-transaction.ts'],
      effects.rolledBack,
    ),
    met('Each consumer has its own history.', ['drivers/postgres/sql/insert-markers.ts'], seen.eachConsumer),
  ],
  '3': [met('The form of state is an option.', ['contract/options/order-and-settle.ts'], spine.matrix)],
  '3A': [
    met(
      'Markers with consumer, id, time and position.',
      ['drivers/postgres/migrations/0001-first-set/markers.ts'],
      examples.inboxRow,
    ),
  ],
  '3B': [
    met('Messages are stored first and handled later.', ['engine/batch/stored-mode.ts'], inbox.stores),
    met(
      'Bytes, headers, position, state, attempts and times.',
      ['drivers/postgres/migrations/0001-first-set/held.ts'],
      parking.sees,
    ),
    met(
      'Type, version, correlation, aggregate and producer are columns.',
      ['drivers/postgres/migrations/0002-evidence/columns.ts'],
      evidence.held,
    ),
    met('Retries do not depend on the broker.', ['work/held-source.ts'], inbox.putsOff),
    met('Operators see the queue.', ['telemetry/held-work.ts'], inbox.lists),
  ],
  '3C': [
    met('The row keeps the last version.', ['effects/projection/table-statements.ts'], effects.byVersion),
    met('Older and equal versions are skipped.', ['effects/projection/walk-key.ts'], effects.stale),
  ],
  '3D': [
    met('One row per contribution.', ['effects/contribution/statements.ts'], effects.factOnce),
    met(
      'The sum is maintained in the same transaction.',
      ['effects/contribution/apply-contributions.ts'],
      effects.contribution,
    ),
    met('The sum can be recounted.', ['effects/contribution/contribution.ts'], effects.recount),
    met('Two consumers on one facts table are refused.', ['review/rules/several.ts'], seen.rules),
  ],
  '3E': [
    met('A stable key goes to the provider.', ['effects/external/call-target.ts'], effects.storedKey),
    met(
      'Local state is kept for recovery.',
      ['drivers/postgres/ledger/record-results.ts'],
      effects.dispatcherKilled,
    ),
  ],
  '4': [
    met('Message id, event id, business key, order key.', ['message/read-identities.ts'], spine.oneKey),
    met('Correlation and causation.', ['message/read-identities.ts'], seen.logLines),
    met('Aggregate and version.', ['contract/options/identity.ts'], effects.sameVersion),
    met('The dedup key belongs to the effect.', ['effects/external/notification.ts'], effects.occasion),
    met(
      'An idempotency key can be declared; external effects use it by default.',
      ['contract/options/identity.ts', 'engine/batch/buffer-effects.ts'],
      effects.defaultKey,
    ),
  ],
  '5': [
    met(
      'Positions of topics, streams and files are kept.',
      ['engine/consumer/checkpoints.ts'],
      logs.withEffect,
    ),
    met('Effect state survives a position that moves back.', ['engine/batch/claim-batch.ts'], replay.nothing),
    met('Lost history is declared.', ['drivers/kafka/loss.ts'], logs.loss),
  ],
  '6': [
    met('Insert, apply, commit, then the offset.', ['engine/batch/commit-batch.ts'], logs.seenRunning),
    met(
      'The unique constraint detects the duplicate.',
      ['drivers/postgres/sql/insert-markers.ts'],
      spine.twenty,
    ),
  ],
  '7': [
    met('Marker and effect commit together or not at all.', ['engine/batch/commit-batch.ts'], spine.together),
    met('A failed effect leaves no marker.', ['engine/batch/recover-attempt.ts'], spine.throws),
    met('Writes past the transaction are detected.', ['testing/probe-rollback.ts'], spine.bypass),
    met('External effects have their own states.', ['effects/external/decide-result.ts'], effects.sameKey),
    met('A swallowed error commits nothing.', ['drivers/postgres/statement-watch.ts'], spine.swallowed),
  ],
  '8': [
    met('Received and leased: stored.', ['engine/batch/stored-mode.ts'], inbox.extended),
    met('Processed, duplicate, ignored, superseded.', ['ports/markers.ts'], spine.verdicts),
    met('Retryable and quarantined.', ['engine/batch/decide-outcome.ts'], failure.decides),
    met('Each state says whether the source may advance.', ['docs/inbox.md'], spine.crash),
  ],
  '9': [
    met('Store, acknowledge, handle later.', ['engine/batch/stored-mode.ts'], inbox.stores),
    met('Workers take rows with skip locked.', ['drivers/postgres/sql/lease-work.ts'], inbox.takesOver),
    met('A copy of a stored message is no second row.', ['engine/batch/claim-batch.ts'], inbox.copyHeld),
    met(
      'Evidence of what was received is kept after success.',
      ['engine/batch/receipts.ts'],
      evidence.stored,
    ),
  ],
  '10': [
    met('Design A: process, then commit the offset.', ['engine/settle/settlement.ts'], spine.once),
    met('Design B: store, commit, process later.', ['engine/batch/stored-mode.ts'], examples.slowWork),
    met('The guide says which to choose.', ['docs/inbox.md'], seen.whichMode),
    met('Freshness includes stored work.', ['telemetry/catalogue/work.ts'], seen.twoLags),
  ],
  '11': [
    met('Serial by partition.', ['engine/consumer/lanes.ts'], logs.partitionOrder),
    met('Serial by key, parallel across keys.', ['drivers/postgres/sql/keys-at-work.ts'], inbox.keyOrder),
    met('Sequence check in the projection.', ['effects/projection/walk-key.ts'], effects.interleavings),
    met(
      'Reorder buffer with limits and deadline.',
      ['effects/projection/waiting-room.ts'],
      effects.waitingLimits,
    ),
    met(
      'What waits is released in order of version.',
      ['drivers/postgres/work/release-waiting.ts'],
      inbox.waits,
    ),
  ],
  '12': [
    met('A command has an id derived from its cause.', ['effects/command/command-from.ts'], effects.command),
    met('The effect exists once per business cause.', ['engine/batch/business-keys.ts'], examples.alertOnce),
  ],
  '13': [
    met('Projection table.', ['effects/projection/projection.ts'], effects.projection),
    met('Append-only audit.', ['effects/audit/audit.ts'], effects.auditRow),
    met('Counter.', ['effects/contribution/contribution.ts'], effects.factOnce),
    met('External interface.', ['effects/external/dispatcher.ts'], effects.storedKey),
    met('Notification.', ['effects/external/notification.ts'], examples.mailOnce),
    partly(
      'Search index, object store, cache.',
      ['effects/external/targets/custom-target.ts'],
      effects.sinks,
      'A custom target does each of them; they are tested against a server of the tests, not real ones.',
    ),
  ],
  '14': [
    met('Claim, effect and outcome in one transaction.', ['engine/batch/commit-batch.ts'], spine.together),
    met('The checkpoint may lag and never leads.', ['drivers/log/partition-progress.ts'], logs.neverLeads),
    met('It may lead only when the message is stored.', ['engine/batch/stored-mode.ts'], inbox.stores),
  ],
}
