import { effects, examples, failure, logs, replay, seen, spine } from './proofs.ts'
import { met, prose, type RequirementsOf } from './requirement.ts'

/** Document 000, sections 15 to 28. */
export const second: RequirementsOf = {
  '15': [
    met('Same id and digest: acknowledged as a duplicate.', ['engine/batch/decide-outcome.ts'], spine.again),
    met('Same id and other digest: set aside, with an alert.', ['message/digest.ts'], spine.twoPayloads),
    met('A missing id is refused.', ['message/read-identities.ts'], examples.envelope),
    met('A missing id can be allowed by the contract.', ['contract/identity-problems.ts'], failure.contentId),
    met('A malformed id is quarantined by name.', ['message/identity.ts'], spine.badIds),
    met('The digest covers the raw bytes.', ['message/digest.ts'], spine.digest),
  ],
  '16': [
    met('Redelivered before the commit: processed.', ['engine/batch/commit-batch.ts'], spine.crash),
    met('Redelivered after the commit: not processed.', ['engine/batch/claim-batch.ts'], spine.crash),
    met(
      'Retried after a transient error: processed.',
      ['engine/batch/recover-attempt.ts'],
      spine.failsThenSucceeds,
    ),
    met(
      'Retried after an ambiguous call: as its policy says.',
      ['effects/external/decide-result.ts'],
      effects.queryFirst,
    ),
    met('Replayed for a rebuild: as its mode says.', ['replay/rebuild/rebuild-store.ts'], replay.rebuild),
    met('The outcome of the earlier attempt is known.', ['engine/batch/decide-outcome.ts'], failure.decides),
  ],
  '17': [
    met('A delivery count never decides about the effect.', ['engine/batch/decide-outcome.ts'], spine.again),
    met(
      'Messages that a delivery limit removed come back.',
      ['drivers/rabbitmq/dead-letter-ingest.ts'],
      failure.deliveryLimit,
    ),
    met('A high count slows, by contract.', ['engine/retry/redelivery.ts'], failure.redeliverySlowed),
    met('It isolates.', ['engine/retry/redelivery.ts'], failure.redeliveryIsolated),
    met('It sets aside.', ['engine/retry/redelivery.ts'], failure.redeliverySetAside),
    met('It alerts.', ['telemetry/alerts/flow-alerts.ts'], seen.fires),
  ],
  '18': [
    met('The ack follows the durable effect.', ['engine/settle/settlement.ts'], spine.crash),
    met('An ack never covers unfinished messages.', ['drivers/rabbitmq/ack-tracker.ts'], spine.ackRange),
    met(
      'Acking first must be declared with a reason.',
      ['contract/settle-problems.ts'],
      seen.contractRefused,
    ),
    met('Acking after a durable store is safe.', ['engine/batch/stored-mode.ts'], spine.crash),
    met('A tag of a lost channel is never acked.', ['drivers/rabbitmq/session.ts'], spine.staleTag),
  ],
  '19': [met('Constraints decide, not code.', ['drivers/postgres/sql/insert-markers.ts'], spine.isolation)],
  '19.1': [
    met(
      'The marker has a unique constraint.',
      ['drivers/postgres/migrations/0001-first-set/markers.ts'],
      spine.twenty,
    ),
  ],
  '19.2': [
    met(
      'Versions guard rows against other writers.',
      ['effects/transition/statements.ts'],
      effects.transitionRace,
    ),
  ],
  '19.3': [
    met('An aggregate can be locked.', ['effects/transition/aggregate-states.ts'], effects.transitionRace),
  ],
  '19.4': [
    met(
      'An upsert writes only newer versions.',
      ['effects/projection/table-statements.ts'],
      effects.projection,
    ),
  ],
  '20': [
    met('A stream is deduplicated like a queue.', ['drivers/rabbitmq-stream/source.ts'], logs.stream),
    met('The offset is coordinated with the effect.', ['engine/batch/log-fence.ts'], logs.streamFenced),
    met('Live work requests its effects once.', ['engine/batch/buffer-effects.ts'], effects.askedOnce),
    met(
      'A rebuild suppresses external effects.',
      ['replay/campaign/campaign-session.ts'],
      replay.newGeneration,
    ),
    met('A forensic run changes nothing.', ['replay/campaign/run-campaign.ts'], replay.forensic),
    met('A repair changes selected keys, with an audit.', ['replay/campaign/select-keys.ts'], replay.repair),
  ],
  '21': [
    met(
      'A contribution is unique by window and event.',
      ['effects/contribution/statements.ts'],
      effects.factOnce,
    ),
    met('A window is recomputed from its facts.', ['effects/contribution/contribution.ts'], replay.window),
    met('Late events follow a declared tolerance.', ['effects/contribution/late-facts.ts'], effects.late),
    met(
      'An event may contribute to several windows.',
      ['effects/contribution/read-fact.ts'],
      effects.hopping,
    ),
    met('An example has windows of event time.', ['examples/06-sla-windows'], examples.windows),
  ],
  '22': [
    met('Every named metric exists.', ['telemetry/catalogue/messages.ts'], seen.catalogue),
    met('The counts are exact.', ['engine/settle/count-decided.ts'], seen.exactCounts),
    met(
      'Redeliveries and failed acks after a commit are counted.',
      ['telemetry/catalogue/source.ts'],
      seen.redelivered,
    ),
    met(
      'Log lines carry ids, keys, decision, correlation and causation.',
      ['engine/settle/log-decided.ts'],
      seen.redelivered,
    ),
    met('Dashboards show the duplicate rate.', ['telemetry/alerts/dashboard.ts'], seen.dashboard),
  ],
  '23': [
    met('The runbook has every named step, in order.', ['telemetry/alerts/runbooks/repeats.ts'], seen.spike),
    met('Conflicts have an alert of their own.', ['telemetry/alerts/failure-alerts.ts'], seen.fires),
  ],
  '24': [prose('Heading of the three tests.')],
  '24.1': [met('A duplicate has one effect and one marker.', ['engine/batch/claim-batch.ts'], spine.again)],
  '24.2': [met('A crash between commit and ack has one effect.', ['crash-points.ts'], spine.crash)],
  '24.3': [met('Concurrent duplicates have one effect.', ['engine/batch/claim-batch.ts'], spine.racing)],
  '25': [
    met('Each anti-pattern has its answer.', ['docs/checklists.md'], seen.checklists),
    met('Automatic acks are not offered.', ['ports/source.ts'], examples.manualAck),
    met('Memory of a process is no marker store.', ['drivers/postgres/store.ts'], spine.comeAndGo),
    met('Permanent failures are not retried.', ['contract/failure-rules.ts'], failure.decides),
  ],
  '26': [met('Each question has its answer.', ['docs/checklists.md'], seen.answers)],
  '27': [
    met('Manual ack.', ['examples/01-payment-capture'], examples.manualAck),
    met('The envelope is validated.', ['examples/01-payment-capture'], examples.envelope),
    met('One inbox row per consumer and id.', ['examples/01-payment-capture'], examples.inboxRow),
    met('One ledger row per request id.', ['examples/01-payment-capture'], examples.ledgerRow),
    met('Both commit before the ack.', ['examples/01-payment-capture'], examples.beforeAck),
    met('A worker calls the gateway with the key.', ['examples/01-payment-capture'], examples.worker),
    met('A duplicate delivery makes no second call.', ['examples/01-payment-capture'], examples.noSecondCall),
    met('Other content under the id is dead-lettered.', ['examples/01-payment-capture'], examples.conflict),
    met('The four counts exist.', ['examples/01-payment-capture'], examples.metrics),
    met('Crash and concurrency are tested.', ['examples/01-payment-capture'], examples.concurrent),
    met('At most one charge per request id.', ['examples/01-payment-capture'], examples.chargedOnce),
    met('Failures are retryable or permanent.', ['examples/01-payment-capture'], examples.classified),
    met('A rebuild captures nothing.', ['examples/01-payment-capture'], examples.rebuilds),
  ],
  '28': [prose('Repeats the rules of the sections before.')],
  refs: [prose('Links.')],
}
