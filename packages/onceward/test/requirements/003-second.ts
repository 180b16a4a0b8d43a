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
import { met, partly, prose, type RequirementsOf } from './requirement.ts'

/** Document 003, sections 15 to 25. */
export const second: RequirementsOf = {
  '15': [
    met('Crash before the insert.', ['crash-points.ts'], spine.crash),
    met('Crash after the insert, before the effect.', ['crash-points.ts'], spine.crash),
    met('Crash after the effect, before the outcome.', ['crash-points.ts'], spine.crash),
    met('Crash after the commit, before the offset.', ['crash-points.ts'], spine.crash),
    met('Rebalance during processing.', ['engine/batch/log-fence.ts'], logs.rebalance),
    met('Backfill of an old topic.', ['replay/campaign/run-campaign.ts'], replay.backfill),
    met('One id for two facts.', ['message/digest.ts'], spine.twoPayloads),
    met('One fact under two ids.', ['engine/batch/business-keys.ts'], spine.oneKey),
    met('Poison.', ['engine/crash-suspects/crash-suspects.ts'], failure.killers),
  ],
  '16': [
    met('A dead worker loses its lease.', ['drivers/postgres/sql/lease-work.ts'], inbox.takesOver),
    met('A living worker keeps it.', ['work/keep-leases.ts'], inbox.extended),
    met('A late worker changes nothing.', ['drivers/postgres/sql/confirm-leases.ts'], inbox.fenced),
    met(
      'The row says who leased it, when and until when.',
      ['drivers/postgres/sql/lease-work.ts'],
      evidence.held,
    ),
    met(
      'Relays, campaigns and queues record when a lease began.',
      ['drivers/postgres/outbox/share-buckets.ts'],
      evidence.leases,
    ),
    met('Expired leases are counted, with an alert.', ['telemetry/catalogue/work.ts'], seen.alerts),
  ],
  '17': [
    met('Old rows are removed by their term.', ['operations/retention/purge-consumer.ts'], retention.purges),
    met('They are archived first.', ['operations/retention/archive-file.ts'], retention.archive),
    met('Unfinished work keeps its marker.', ['operations/retention/plan-purge.ts'], retention.unfinished),
    met('Partitions by day.', ['drivers/postgres/retention/drop-day.ts'], retention.days),
    met('Nothing goes before the replay horizon.', ['contract/needed-retention.ts'], retention.tooShort),
    met(
      'Business keys, notes and effects have terms of their own.',
      ['drivers/postgres/retention/kinds.ts'],
      retention.keys,
    ),
    met('An archive can be replayed.', ['replay/archive/archive-range-reader.ts'], retention.archivedReplay),
    partly(
      'Retention by tenant.',
      ['operations/retention/drop-tenant.ts'],
      retention.tenants,
      'Receipts are packed rows of a batch with many tenants, so they keep the term of their consumer.',
    ),
    met(
      'Two people drop a tenant of high risk.',
      ['drivers/postgres/migrations/0010-tenant-approval.ts'],
      retention.tenantApproval,
    ),
  ],
  '18': [
    met(
      'Every question of an auditor has an answer or a reason.',
      ['evidence/answer-auditor.ts'],
      seen.auditor,
    ),
    met(
      'Of a message that simply succeeded, every question has an answer.',
      ['evidence/build-story.ts'],
      seen.explainWhole,
    ),
    met(
      'The time of the event, as the message has it.',
      ['message/read-identities.ts', 'engine/batch/receipts.ts'],
      seen.eventTime,
    ),
    met('Consumer, version of the code, mode and campaign.', ['evidence/answer-auditor.ts'], seen.auditor),
    met('The affected row leads back to its message.', ['evidence/find-row.ts'], seen.findsRow),
    met('Rows carry their cause.', ['evidence/cause.ts'], seen.rowCause),
    met(
      'Type, version and source time of a message that succeeded.',
      ['evidence/answer-auditor.ts'],
      evidence.receipts,
    ),
    met('The life of a message is shown in order.', ['evidence/build-story.ts'], seen.story),
    met('Manual changes of rows are found.', ['evidence/reconcile/reconcile.ts'], seen.drift),
  ],
  '19': [
    met('Every named metric exists.', ['telemetry/catalogue/work.ts'], seen.catalogue),
    met('The derived signals have alerts.', ['telemetry/alerts/flow-alerts.ts'], seen.alerts),
    met('Broker lag and inbox lag are two metrics.', ['telemetry/catalogue/source.ts'], seen.twoLags),
    met('Offset commits are counted by result.', ['telemetry/catalogue/source.ts'], seen.staged),
    met(
      'The age of a message without a timestamp survives a restart.',
      ['runtime/first-seen-ages.ts', 'drivers/postgres/gauges/first-seen.ts'],
      seen.ageSurvives,
    ),
  ],
  '20': [
    met(
      'Source, store, effect and commit are separate ports.',
      ['ports/source.ts', 'ports/store.ts'],
      seen.ports,
    ),
    met('Another store can be written.', ['docs/write-a-driver.md'], seen.sqlite),
    met('A handler knows no offsets.', ['contract/handler.ts'], seen.noClient),
    met(
      'A handler can ask whether an id was processed, and attach evidence.',
      ['engine/batch/buffer-evidence.ts', 'drivers/postgres/sql/note-evidence.ts'],
      effects.evidence,
    ),
  ],
  '21': [
    met('A correction is a new fact.', ['effects/projection/walk-key.ts'], effects.correction),
    met(
      'A correction of a transition.',
      ['effects/transition/apply-transitions.ts'],
      effects.transitionCorrection,
    ),
    met('A correction of a contribution.', ['effects/contribution/correct-facts.ts'], effects.reversal),
    met('A delete leaves a tombstone.', ['effects/projection/write-rows.ts'], effects.tombstone),
  ],
  '22': [
    met('Live, replay, backfill, rebuild, repair, forensic.', ['contract/handler.ts'], replay.forensic),
    met('A rebuild writes elsewhere, then swaps.', ['replay/rebuild/swap-tables.ts'], replay.rebuild),
    met('A swap can be rolled back.', ['replay/rebuild/exchange-tables.ts'], replay.rollback),
    met('An audit sink skips known events.', ['effects/audit/audit.ts'], replay.audit),
    met('A window is recomputed alone.', ['effects/contribution/contribution.ts'], replay.window),
    met('Notifications are off.', ['replay/campaign/campaign-session.ts'], examples.noMailInRebuild),
    met('What was suppressed is recorded.', ['drivers/postgres/sql/note-suppressed.ts'], replay.holes),
    met(
      'The mode is in the envelope and in the evidence.',
      ['engine/batch/handler-envelope.ts'],
      effects.replayEnvelope,
    ),
    met(
      'External effects of a backfill need an approval.',
      ['replay/campaign/steer-campaign.ts'],
      replay.approved,
    ),
    met(
      'Money needs a second person.',
      ['drivers/postgres/migrations/0001-first-set/campaign-approvals.ts'],
      replay.money,
    ),
    met('A killed campaign resumes exactly.', ['replay/campaign/campaign-journal.ts'], replay.killed),
  ],
  '23': [
    met('Each anti-pattern has its answer.', ['docs/checklists.md'], seen.checklists),
    met('The offset never leads.', ['drivers/log/partition-progress.ts'], logs.neverLeads),
    met('A position is an identity only where declared.', ['contract/options/identity.ts'], logs.byPosition),
    met('Nothing is skipped without a row.', ['engine/batch/conclude-batch.ts'], failure.hostile),
  ],
  '24': [
    met('Each question has its answer.', ['docs/checklists.md'], seen.answers),
    met(
      'A message that fails without end is parked, and others go on.',
      ['engine/batch/decide-outcome.ts'],
      inbox.putsOff,
    ),
    met('An operator can explain a row.', ['evidence/explain.ts'], seen.findsRow),
    met('Quarantine has a workflow.', ['operations/parking/fix-parked.ts'], parking.fixes),
  ],
  '25': [prose('Repeats the rules of the sections before.')],
  refs: [prose('Links.')],
}
