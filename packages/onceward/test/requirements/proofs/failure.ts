import { proof, suite } from './proof.ts'

/** Tests of failures, retries, parking and poison. */
export const failure = {
  classes: proof('unit/classify-failure.test.ts', '<what>: <expected>'),
  ownTable: proof(
    'unit/classify-failure.test.ts',
    'the contract’s own table comes first, by code, then by class name',
  ),
  decides: proof('unit/decide-outcome.test.ts', '<when>: <outcome>'),
  template: proof('unit/contract-failure.test.ts', 'the production template can be said'),
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
    'costs no attempt and sets nothing aside, and the backlog gets through afterwards (<mode>)',
  ),
  breaker: proof(
    'unit/breaker.test.ts',
    'a backlog during an outage uses no attempt, is not set aside, and gets through afterwards',
  ),
  contentId: proof(
    'spine/content-identity.test.ts',
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
    'are its true tries after <what>, on the row and on the copy',
  ),
  conflictIgnored: proof(
    'failure/attempt-counts.test.ts',
    'a business conflict that counts as success leaves no row, and says why',
  ),
  braked: proof(
    'failure/brake.test.ts',
    'is paused, also after a kill, and continues when the column is there: <name>',
  ),
  halts: proof(
    'unit/consumer.test.ts',
    'halts on a configuration error where the contract says so, and settles nothing',
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
    'a long delay holds no short one back, what comes back is as it was, and its dead letter says where it came from',
  ),
  springHeaders: proof(
    'unit/hold-messages.test.ts',
    'says in the words of Spring where it came from and why it died',
  ),
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
    'is found within (attempts + log2 n + 1) restarts while thousands of neighbours arrive once',
  ),
  isolated: proof(
    'poison/isolation.test.ts',
    'onceward run survives a handler that ends in <how>, and parks its message',
  ),
  unreadable: proof('unit/read-message.test.ts', 'reading never throws, with any bytes and headers'),
  hostile: proof(
    'hostile/hostile.ts',
    'row <input.row>, <input.what>: <input.ends>, and the next good message is applied',
  ),
  unlisted: proof(
    'unit/read-message.test.ts',
    'refuses types and versions the contract does not list, before the schema has a say',
  ),
  invalid: proof('unit/read-message.test.ts', 'an invalid message keeps its id, and says where it is wrong'),
  brokenChunk: proof(
    'rabbitmq-stream/broken-chunks.test.ts',
    'leaves a quarantined row for each with its bytes and reason, dedup <dedup>',
  ),
  deliveryLimit: proof(
    'spine/delivery-limit.test.ts',
    'bystanders of a process killed again and again come back from the dead-letter queue, each applied once',
  ),
  reasons: proof(
    'unit/attention-reason.test.ts',
    'every message that is set aside waits under one reason, by what was decided of it',
  ),
}
