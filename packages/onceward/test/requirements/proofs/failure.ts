import { proof, suite } from './proof.ts'

/** Tests of failures, retries, parking and poison. */
export const failure = {
  classes: proof('unit/classify-failure.test.ts', '<what>: <expected>'),
  ownTable: proof(
    'unit/classify-failure.test.ts',
    'the contract’s own table comes first, by code, then by class name',
  ),
  decides: proof('unit/decide-outcome.test.ts', '<when>: <outcome>'),
  template: proof('unit/contract-failure.test.ts', 'the production template can be declared'),
  accepted: proof(
    'unit/contract-failure.test.ts',
    'money in partitions continues past a dead letter only if a named person accepts it, or stops',
  ),
  delay: proof('unit/retry-delay.test.ts', 'the ceiling doubles with every attempt until the cap'),
  jitter: proof(
    'unit/retry-delay.test.ts',
    'full jitter: the delay grows with the random number and may be zero',
  ),
  outage: proof(
    'failure/outage.test.ts',
    'uses no attempt and sets nothing aside, and the backlog is applied afterwards (<mode>)',
  ),
  breaker: proof(
    'unit/breaker.test.ts',
    'a backlog during an outage uses no attempt, is not set aside, and is applied afterwards',
  ),
  noSchemaId: proof('schema/hostile.test.ts', '<name>: undecodable'),
  unknownSchema: proof(
    'schema/consumer.test.ts',
    'parks messages of an unknown schema with their bytes, and releases them when it is known',
  ),
  schemaGate: proof(
    'check/live-schema.test.ts',
    'finds versions that the consumer cannot read, until it has a default',
  ),
  contentId: proof(
    'delivery/content-identity.test.ts',
    'applies each content once on <broker>, also after a restart',
  ),
  redeliverySlowed: proof(
    'failure/redelivery.test.ts',
    'slowed: the message waits, others do not, and no attempt is counted',
  ),
  redeliveryIsolated: proof('failure/redelivery.test.ts', 'isolated: the message is a batch of its own'),
  redeliverySetAside: proof(
    'failure/redelivery.test.ts',
    'set aside: the message is not tried, and ends as poison with its deliveries',
  ),
  missingColumn: proof(
    'store/handler-mistakes.test.ts',
    'a missing column is a mistake of its handler: it halts nothing',
  ),
  trueTries: proof(
    'failure/attempt-counts.test.ts',
    'are its actual attempts after <what>, on the row and on the copy',
  ),
  conflictIgnored: proof(
    'failure/attempt-counts.test.ts',
    'a business conflict that counts as success leaves no row, with the reason',
  ),
  braked: proof(
    'failure/brake.extended.test.ts',
    'is paused, also after a kill, and continues when the column is there: <name>',
  ),
  followsClass: proof(
    'failure/refused-login-brokers.test.ts',
    'follows the class that the contract gives it: <status>, <broker>',
  ),
  transformBrake: proof(
    'kafka/transform-brake.test.ts',
    'a bad deployment sets few records aside and goes on by itself, <attemptsMax> attempts',
  ),
  refusedPauses: proof(
    'failure/refused-login-brokers.test.ts',
    'pauses, and keeps every message: <status>, <broker>',
  ),
  refusedHalts: proof(
    'failure/refused-login-brokers.test.ts',
    'halts at the first one where the contract says so: <status>, <broker>',
  ),
  copiesReadBack: proof(
    'failure/dead-letter-brokers.extended.test.ts',
    'carry why, when and how often, for each way a message ended: <name>',
  ),
  retryTopic: proof(
    'failure/retry-topic.test.ts',
    'two failures each, consumers and relays killed in between: every effect once, nothing left anywhere',
  ),
  retryQueue: proof(
    'failure/retry-queue.test.ts',
    'two failures each, consumers and relays killed in between: every effect once, nothing left anywhere',
  ),
  deadLetterOrigin: proof(
    'failure/retry-topic.test.ts',
    'a long delay does not hold back a short one, copies return unchanged, and the dead letter names the origin',
  ),
  springHeaders: proof('unit/hold-messages.test.ts', "has the origin and the failure in Spring's headers"),
  keptWhole: proof(
    'check/checklist-proofs.test.ts',
    'a dead letter keeps its bytes, headers, properties, origin and the reason',
  ),
  behindHead: suite(
    'delivery-order-cases.ts',
    'messages before a failing message of their key are applied, later ones are parked behind it',
  ),
  partitionStops: suite(
    'delivery-log-cases.ts',
    'a partition stops before a failing record and waits there, while the others continue',
  ),
  killers: proof(
    'poison/killers.test.ts',
    'is found within (attempts + log2 n + 1) restarts while thousands of other messages are applied once',
  ),
  isolated: proof(
    'poison/isolation.extended.test.ts',
    'onceward run survives a handler that ends in <how>, and parks its message',
  ),
  unreadable: proof('unit/read-message.test.ts', 'reading never throws, with any bytes and headers'),
  hostile: proof(
    'hostile/hostile.ts',
    'row <input.row>, <input.what>: <input.ends>, and the next good message is applied',
  ),
  unlisted: proof(
    'unit/read-message.test.ts',
    'refuses types and versions the contract does not list, before the schema is called',
  ),
  invalid: proof(
    'unit/read-message.test.ts',
    'an invalid message keeps its id, and names the place of the problem',
  ),
  brokenChunk: proof(
    'rabbitmq-stream/broken-chunks.test.ts',
    'leaves a quarantined row for each with its bytes and reason, dedup <dedup>',
  ),
  deliveryLimit: proof(
    'delivery/delivery-limit.test.ts',
    'innocent messages of a repeatedly killed process return from the dead-letter queue, each applied once',
  ),
  reasons: proof(
    'unit/attention-reason.test.ts',
    'every message that is set aside has one reason, from its decision',
  ),
}
