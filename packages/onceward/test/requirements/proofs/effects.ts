import { proof, suite } from './proof.ts'

/** Tests of declared effects, external effects and the outbox. */
export const effects = {
  projection: proof(
    'effects/projection.test.ts',
    'writes the newest fact of each key, and a whole batch in one statement',
  ),
  stale: proof('effects/projection.test.ts', 'marks an older fact as stale'),
  sameVersion: proof(
    'effects/projection.test.ts',
    'recognises the same version under another id as a duplicate, in one batch and in the next',
  ),
  tombstone: proof(
    'effects/projection.test.ts',
    'keeps a deleted row as a tombstone that nothing older brings back, and lets a newer fact do so',
  ),
  correction: proof('effects/projection.test.ts', 'takes a correction as a new fact with its own version'),
  acceptGap: proof('effects/projection.test.ts', 'accepts a skipped version, with a note'),
  waitGap: proof(
    'effects/projection-gaps.test.ts',
    'are kept durably and released in order when the missing one comes',
  ),
  repairGap: proof(
    'effects/projection-gaps.test.ts',
    'apply what the source of truth answers, and what comes after it',
  ),
  failGap: proof(
    'effects/projection-gaps.test.ts',
    'quarantine the fact and stop its key, later ones parked behind it; others continue',
  ),
  parkGap: proof('effects/projection-gaps.test.ts', 'are parked at the deadline where that is declared'),
  rebuildGap: proof(
    'effects/projection-gaps.test.ts',
    'note the key with the version to reach, and are applied again once the row is there',
  ),
  interleavings: proof(
    'effects/projection-interleavings.test.ts',
    "ends in the rows of one clean pass, and of a rebuild, with dedup '<dedup>'",
  ),
  byVersion: proof(
    'effects/projection-version.test.ts',
    'writes no marker, and still recognises applied messages',
  ),
  transition: proof(
    'effects/transition.test.ts',
    'moves a case through its states, several steps of it in one batch, and each is a fact',
  ),
  illegal: proof(
    'effects/transition.test.ts',
    'illegal: the next version, but not from this state, or not declared',
  ),
  corruption: proof(
    'effects/transition.test.ts',
    'corruption: an id used for another transition, two transitions of a version, an undeclared state',
  ),
  outOfOrder: proof(
    'effects/transition.test.ts',
    'out of order: waits for earlier versions, and is parked when they never arrive',
  ),
  transitionRace: proof(
    'effects/transition.test.ts',
    'two processes with the same transitions under other message ids make each once',
  ),
  transitionOnce: proof(
    'effects/transition.test.ts',
    'duplicate: the transition happened, under any message id, now or before',
  ),
  transitionCorrection: proof(
    'effects/transition.test.ts',
    'a correction is a new fact: it changes the outcome of a closed case and keeps the original fact',
  ),
  contribution: proof(
    'effects/contribution.test.ts',
    'counts and sums by key and window of event time, in the transaction of the facts',
  ),
  factOnce: proof('effects/contribution.test.ts', 'a fact counts once, under any message id, now or before'),
  late: proof('effects/contribution.test.ts', 'within the tolerance, and for another key, it is in time'),
  recount: proof(
    'effects/contribution.test.ts',
    'drift names the row that was changed by hand, and a rebuild restores it from the facts',
  ),
  reversal: proof(
    'effects/contribution.test.ts',
    'reverses it and counts in its place, each in its own window; the fact itself stays',
  ),
  balance: proof(
    'effects/contribution-ledger.test.ts',
    'keeps each balance as the sum of its entries, with the consumer and message that made them',
  ),
  auditRow: proof(
    'effects/audit.test.ts',
    'has one row per event, with the message and consumer that wrote it',
  ),
  auditConflict: proof(
    'effects/audit.test.ts',
    'takes the same event under another message id as a duplicate, and other content as a conflict',
  ),
  command: proof(
    'effects/command-from.test.ts',
    'has the same id however often and under any message id it is created',
  ),
  notification: proof(
    'effects/notification.test.ts',
    'is the same each time, and does not reveal the recipient',
  ),
  occasion: proof(
    'effects/notification.test.ts',
    'is another one for another occasion, recipient or template version',
  ),
  askedOnce: suite(
    'delivery-lifecycle-cases.ts',
    'an external effect is requested once per key, in the transaction',
  ),
  sameKey: proof(
    'effects/external/answers.test.ts',
    'repeats under the same key after "<behaviour>", and one charge is made',
  ),
  storedKey: proof(
    'effects/external/answers.test.ts',
    'calls once with the stored key, bytes and content type, and keeps the digest of the answer',
  ),
  sinks: proof(
    'effects/external/sinks.test.ts',
    'end with the newest version of each, also when calls are repeated late and out of order',
  ),
  noKeyTwice: proof('effects/external/lies.test.ts', 'charges no key twice, and records every charge'),
  dispatcherKilled: proof(
    'effects/external/dispatcher-crash.test.ts',
    'killed between the answer and its record: called again with the same key and bytes, charged once',
  ),
  atMostOnce: proof('effects/external/policies.test.ts', 'at most once: one call, and its row stays unknown'),
  manual: proof(
    'effects/external/policies.test.ts',
    'manual: a call that may have happened waits for an operator, a refusal is final',
  ),
  queryFirst: proof(
    'effects/external/policies.test.ts',
    'query first: an earlier call that took effect is found, and not repeated',
  ),
  reconciles: proof(
    'cli/ledger.test.ts',
    'reconciles an effect that may have happened, and keeps the reason',
  ),
  outbox: proof(
    'effects/publish.test.ts',
    'writes to the outbox with the effect, under an id made of its causes',
  ),
  noSecondPublish: proof('effects/publish.test.ts', 'a duplicate publishes nothing'),
  relayKilled: proof(
    'effects/relay-sharing.test.ts',
    'killed at <point>: published <copies> time(s) under one id, then gone',
  ),
  relayOrder: proof(
    'effects/relay-kafka.test.ts',
    'publishes the rows of a key to its partition, once and in order',
  ),
  rolledBack: proof('effects/relay-commit-order.test.ts', 'a transaction that rolls back publishes nothing'),
  undeclared: proof(
    'unit/consumer.test.ts',
    'halts when a handler names an external target the contract does not declare',
  ),
  waitingLimits: proof(
    'effects/projection-gaps.test.ts',
    'are treated as declared when a key or all of them have too many',
  ),
  after: proof(
    'effects/after.test.ts',
    'a transition publishes, calls and writes with its result, in the order of its versions',
  ),
  hopping: proof(
    'effects/hopping-windows.test.ts',
    'counts in every window that contains its time, once however often it arrives',
  ),
  byReason: proof(
    'effects/hopping-windows.test.ts',
    'results of transitions, contributions and audits are counted by reason',
  ),
  evidence: proof(
    'effects/evidence.test.ts',
    'evidence is a note of an applied message, and explain shows it',
  ),
  defaultKey: proof(
    'effects/evidence.test.ts',
    'the idempotency key of the message is the default key of external effects',
  ),
  replayEnvelope: proof(
    'replay/after-effect.test.ts',
    'replay: it is called only for missing messages; its message and call are suppressed',
  ),
}
