import { proof } from './proof.ts'

const drill = 'examples/01-payment-capture/payment-capture.test.ts'

/** Tests of the examples. */
export const examples = {
  manualAck: proof(drill, '1 manual ack: a consumer that dies before the commit loses nothing'),
  envelope: proof(
    drill,
    '2 an envelope without messageId, correlationId, schemaVersion or captureRequestId is dead-lettered',
  ),
  inboxRow: proof(drill, '3 the inbox has one row per consumer and message id'),
  ledgerRow: proof(drill, '4 the ledger has one row per captureRequestId, under any message id'),
  beforeAck: proof(drill, '5 inbox and ledger commit before the ack: a crash between leaves one effect'),
  worker: proof(drill, '6 a separate worker calls the gateway with captureRequestId as idempotency key'),
  noSecondCall: proof(drill, '7 duplicate deliveries are acknowledged and do not call the gateway twice'),
  conflict: proof(
    drill,
    '8 the same message id with another payload is quarantined, with a copy in the dead-letter queue',
  ),
  metrics: proof(
    'examples/01-payment-capture/metrics.test.ts',
    '9 counts processed, duplicate, side-effect duplicate and conflict',
  ),
  concurrent: proof(drill, '10 duplicates delivered to several processes at once are applied once'),
  chargedOnce: proof(
    drill,
    'success: a capture is charged at most once per captureRequestId although the gateway hangs and fails',
  ),
  classified: proof(drill, 'success: failures are classified as retryable or permanent'),
  rebuilds: proof(
    drill,
    'success: a rebuild under a new generation restores internal state and captures nothing',
  ),
  casePage: proof('examples/02-case-projection/case-projection.test.ts', 'matches its contract page'),
  caseMoves: proof(
    'examples/02-case-projection/case-projection.test.ts',
    'applies the versions of a case in order, each event once',
  ),
  casePoison: proof(
    'examples/02-case-projection/case-projection.test.ts',
    'sends poison to the dead-letter topic with its original metadata, and the partition continues',
  ),
  caseRebuilt: proof(
    'examples/02-case-projection/case-projection.test.ts',
    'a rebuild from the first record has the same rows',
  ),
  caseOlder: proof(
    'examples/02-case-projection/case-projection.test.ts',
    'ignores an older event after a newer one with a reason, and notes a skipped version',
  ),
  workflow: proof(
    'examples/04-case-workflow/case-workflow.test.ts',
    'moves a case through its states and leaves an audit trail',
  ),
  alertOnce: proof(
    'examples/04-case-workflow/case-workflow.test.ts',
    'alerts once per escalation, under any message id',
  ),
  mailOnce: proof(
    'examples/05-notifications/notifications.test.ts',
    'a mail that may have been sent is not sent again, and is listed',
  ),
  noMailInRebuild: proof(
    'examples/05-notifications/notifications.test.ts',
    'a rebuild sends no notification',
  ),
  windows: proof(
    'examples/06-sla-windows/sla-windows.test.ts',
    'adds up answers, minutes and breaches by team and hour of event time, each fact once',
  ),
  outboxToKafka: proof(
    'examples/07-outbox-to-kafka/outbox-to-kafka.test.ts',
    'every change is published once it is committed, in order, and applied once',
  ),
  slowWork: proof(
    'examples/08-slow-work/statement-rendering.test.ts',
    'is stored and settled at once, and rendered later, once each and in order',
  ),
  parkingDrill: proof(
    'examples/09-parking-drill/parking-drill.test.ts',
    'goes from the alert to the last booking, each invoice once and in order, and the audit has who did what',
  ),
}
