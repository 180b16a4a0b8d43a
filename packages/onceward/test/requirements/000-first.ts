import {
  effects,
  evidence,
  examples,
  failure,
  inbox,
  parking,
  replay,
  retention,
  seen,
  spine,
} from './proofs.ts'
import { met, prose, type RequirementsOf } from './requirement.ts'

/** Document 000, sections 1 to 14. */
export const first: RequirementsOf = {
  intro: [prose('Redelivery is normal; the goal is that it does no harm.')],
  '1': [
    met('Redelivery is an input like any other.', ['engine/batch/claim-batch.ts'], spine.again),
    met('The business operation is safe to repeat.', ['engine/batch/business-keys.ts'], spine.oneKey),
    met('Known message ids are detected.', ['drivers/postgres/sql/insert-markers.ts'], spine.again),
    met('Marker and state change share a transaction.', ['engine/batch/commit-batch.ts'], spine.together),
    met('Racing duplicates have one effect.', ['engine/batch/claim-batch.ts'], spine.racing),
    met(
      'Mails, payments and webhooks are not repeated.',
      ['effects/external/dispatcher.ts'],
      effects.sameKey,
    ),
    met('Retry, replay, repair and forensics are different modes.', ['contract/handler.ts'], replay.forensic),
    met(
      'Duplicates are counted and shown to be harmless.',
      ['engine/settle/count-decided.ts'],
      seen.exactCounts,
    ),
    met(
      'Operators can repair poison, the store and bad replays.',
      ['operations/parking/redrive-parked.ts', 'evidence/reconcile/reconcile.ts'],
      parking.redrives,
    ),
  ],
  '2': [
    met('One business identity changes state at most once.', ['engine/batch/business-keys.ts'], spine.oneKey),
    met(
      'Delivery, message id, business id and effect are four things.',
      ['message/read-identities.ts', 'docs/glossary.md'],
      spine.oneKey,
    ),
    met(
      'A domain key can be declared beside the message id.',
      ['contract/options/identity.ts'],
      examples.ledgerRow,
    ),
  ],
  '3': [
    met('A crash before the ack loses nothing.', ['engine/settle/settlement.ts'], spine.crash),
    met(
      'A lost network after the commit repeats nothing.',
      ['engine/batch/batch-runner.ts'],
      spine.lostCommit,
    ),
    met(
      'A requeue is bounded by counted attempts.',
      ['engine/batch/conclude-batch.ts'],
      spine.acrossProcesses,
    ),
    met(
      'An acknowledgement time-out is detected and survived.',
      ['drivers/rabbitmq/overdue.ts'],
      spine.ackTimeout,
    ),
    met(
      'A failover of the queue leader repeats no effect.',
      ['drivers/rabbitmq/source.ts'],
      spine.leaderKilled,
    ),
    met('A deployment drains in-flight work.', ['engine/consumer/consumer.ts'], spine.drains),
    met('A replay knows that it is one.', ['replay/campaign/run-campaign.ts'], replay.holes),
    met('A server that dies repeats and loses nothing.', ['runtime/reach-servers.ts'], spine.serversKilled),
  ],
  '4': [
    met(
      'Repeating an operation has the same end state.',
      ['effects/projection/apply-facts.ts'],
      effects.sameVersion,
    ),
    met('Seen messages are skipped.', ['engine/batch/claim-batch.ts'], spine.again),
    met('Older versions are ignored.', ['effects/projection/walk-key.ts'], effects.stale),
    met('Counting facts does not depend on order.', ['effects/contribution/add-facts.ts'], effects.factOnce),
    met('An operation without a stable identity is refused.', ['message/read-identities.ts'], spine.badIds),
  ],
  '5': [
    met(
      'State is set, not added to blindly.',
      ['effects/transition/apply-transitions.ts'],
      effects.transitionOnce,
    ),
    met(
      'A sum is derived from recorded unique facts.',
      ['effects/contribution/apply-contributions.ts'],
      effects.balance,
    ),
  ],
  '6': [
    met('Marker and update commit together.', ['engine/batch/commit-batch.ts'], spine.together),
    met(
      'The key of the inbox is consumer and message id.',
      ['drivers/postgres/migrations/0001-first-set/markers.ts'],
      examples.inboxRow,
    ),
    met(
      'Two consumers may handle the same message.',
      ['drivers/postgres/sql/insert-markers.ts'],
      seen.eachConsumer,
    ),
    met(
      'The business key is stored and indexed.',
      ['drivers/postgres/sql/insert-business-keys.ts'],
      spine.oneKey,
    ),
    met(
      'The status and the digest are stored.',
      ['drivers/postgres/sql/insert-markers.ts'],
      spine.otherBytes,
    ),
    met(
      'Type, producer and arrival time are kept for every message.',
      ['engine/batch/receipts.ts'],
      evidence.receipts,
    ),
  ],
  '7': [
    met('A delivery tag is no identity.', ['message/read-identities.ts'], seen.noTag),
    met(
      'An event id, a command id or a version can be the key.',
      ['contract/options/identity.ts'],
      spine.identities,
    ),
    met('A payment uses the id of its request.', ['effects/external/dispatcher.ts'], examples.ledgerRow),
    met(
      'A notification is keyed by occasion, recipient and template version.',
      ['effects/external/notification.ts'],
      effects.occasion,
    ),
    met(
      'A projection is keyed by aggregate and version.',
      ['effects/projection/walk-key.ts'],
      effects.sameVersion,
    ),
    met(
      'A transition is keyed by its transition id.',
      ['effects/transition/classify.ts'],
      effects.transitionOnce,
    ),
    met('A payload hash diagnoses and does not identify.', ['message/digest.ts'], spine.otherBytes),
  ],
  '8': [
    met('Decode and validate before anything else.', ['message/read-message.ts'], failure.invalid),
    met('A known marker is an acknowledged duplicate.', ['engine/batch/decide-outcome.ts'], spine.again),
    met('A transient database error is retried.', ['engine/batch/recover-attempt.ts'], spine.databaseAway),
    met('An invalid message is dead-lettered.', ['engine/batch/decide-outcome.ts'], examples.envelope),
    met('An unknown error is retried within bounds.', ['engine/retry/classify-failure.ts'], failure.decides),
    met(
      'A duplicate key is a normal path, not an error.',
      ['drivers/postgres/sql/insert-markers.ts'],
      spine.racing,
    ),
  ],
  '9': [
    met('The marker is inserted first, then the effect.', ['engine/batch/claim-batch.ts'], spine.racing),
    met('The ack follows the commit.', ['engine/settle/settlement.ts'], spine.crash),
  ],
  '10': [
    met('A crash rolls marker and effect back.', ['crash-points.ts'], spine.crash),
    met('Claimed work has a lease that expires.', ['work/keep-leases.ts'], inbox.takesOver),
    met('A marker alone never hides unfinished work.', ['engine/batch/stored-mode.ts'], inbox.copyHeld),
  ],
  '11': [
    met(
      'A call outside is not part of the transaction.',
      ['engine/batch/buffer-effects.ts'],
      effects.askedOnce,
    ),
    met('Mail has its own way.', ['effects/external/smtp/send-mail.ts'], examples.mailOnce),
    met('Webhooks have their own way.', ['effects/external/targets/webhook-target.ts'], effects.noKeyTwice),
    met('A target that is not declared is refused.', ['engine/batch/buffer-effects.ts'], effects.undeclared),
  ],
  '11.1': [
    met(
      'A stable key goes to the provider with every attempt.',
      ['effects/external/call-target.ts'],
      effects.sameKey,
    ),
    met('The same key leads to one charge.', ['effects/external/decide-result.ts'], effects.noKeyTwice),
  ],
  '11.2': [
    met(
      'The call is made after the commit by a separate worker.',
      ['effects/external/dispatcher.ts'],
      examples.worker,
    ),
    met('No delivery stays open during a slow call.', ['effects/external/dispatcher.ts'], examples.beforeAck),
  ],
  '11.3': [
    met(
      'A ledger has target, key, status, attempts, times and response digest.',
      ['drivers/postgres/migrations/0001-first-set/external-effects.ts'],
      effects.storedKey,
    ),
    met(
      'The ledger has effect type and business key, and lists filter by them.',
      ['drivers/postgres/ledger/read-ledger.ts'],
      evidence.ledger,
    ),
    met(
      'Operators can reconcile, retry and close a row.',
      ['operations/ledger-actions.ts'],
      effects.reconciles,
    ),
  ],
  '12': [
    met('An equal or lower version changes nothing.', ['effects/projection/walk-key.ts'], effects.stale),
    met('A rebuilt projection ends the same.', ['effects/projection/apply-facts.ts'], effects.interleavings),
    met('A gap may be accepted.', ['effects/projection/resolve-gaps.ts'], effects.acceptGap),
    met('A gap may wait for what is missing.', ['effects/projection/waiting-room.ts'], effects.waitGap),
    met(
      'A gap may be repaired from the source.',
      ['effects/projection/ask-source-of-truth.ts'],
      effects.repairGap,
    ),
    met('A gap may stop the key.', ['effects/projection/resolve-gaps.ts'], effects.failGap),
  ],
  '13': [
    met(
      'A transition id is applied once.',
      ['effects/transition/apply-transitions.ts'],
      effects.transitionOnce,
    ),
    met(
      'The aggregate is locked or guarded by its version.',
      ['effects/transition/aggregate-states.ts'],
      effects.transitionRace,
    ),
    met(
      'An impossible transition is a permanent failure.',
      ['effects/transition/classify.ts'],
      effects.illegal,
    ),
    met('Every transition is recorded as a fact.', ['effects/transition/statements.ts'], effects.transition),
    met('An example has the whole lifecycle.', ['examples/04-case-workflow'], examples.workflow),
  ],
  '14': [
    met('Money without a retention is an error.', ['review/rules/retention.ts'], retention.advice),
    met(
      'A queued message keeps its marker.',
      ['drivers/postgres/retention/read-cutoffs.ts'],
      retention.ownQueue,
    ),
    met('Terms follow the category of the message.', ['contract/options/retention.ts'], retention.byRisk),
    met(
      'A term shorter than a duplicate can be late is refused.',
      ['contract/needed-retention.ts'],
      retention.tooShort,
    ),
    met(
      'Retries, parking and campaigns count into it.',
      ['contract/needed-retention.ts'],
      retention.tooShort,
    ),
    met(
      'A message behind the horizon is not applied again.',
      ['engine/batch/horizon-guard.ts'],
      retention.horizon,
    ),
    met('A replay behind the horizon is refused.', ['replay/campaign/horizon.ts'], replay.horizon),
    met(
      'Windows and late tolerance of aggregates count into it.',
      ['contract/needed-retention.ts'],
      retention.lateWindows,
    ),
    met(
      'Where the source cannot say, a term must be declared.',
      ['contract/needed-retention.ts'],
      retention.unknown,
    ),
  ],
}
