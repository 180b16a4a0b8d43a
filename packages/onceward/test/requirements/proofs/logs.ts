import { proof, suite } from './proof.ts'

/** Tests of logs: positions, partitions, rebalances and Kafka's transactions. */
export const logs = {
  gapless: proof(
    'unit/log-progress.test.ts',
    'is directly after the longest settled run, in any order of settling',
  ),
  neverLeads: proof(
    'unit/log-progress.test.ts',
    'never leads an effect and never moves back, with several transactions open and some failing',
  ),
  seenRunning: suite(
    'delivery-log-cases.ts',
    'no position passes a record whose effect is not committed, checked while the consumer runs',
  ),
  before: suite(
    'delivery-log-cases.ts',
    'with commits before the effect, records in flight are lost and none is repeated',
  ),
  withEffect: suite(
    'delivery-log-cases.ts',
    'the next process starts exactly at the position written with the effect',
  ),
  partitionOrder: suite(
    'delivery-log-cases.ts',
    'records of a partition are applied in order, also when some are retried',
  ),
  byPosition: suite(
    'delivery-log-cases.ts',
    'with the position as id, a record that is read again is one message, and the same bytes twice are two',
  ),
  rebalance: proof(
    'rebalance/broker-offsets.extended.test.ts',
    'processes join, leave, die, freeze and restart under load: offsets on the broker',
  ),
  rebalanceWithEffect: proof(
    'rebalance/with-effect.extended.test.ts',
    'processes join, leave, die, freeze and restart under load: position with the effect',
  ),
  revoked: proof(
    'kafka/group.test.ts',
    'a partition continues only when its old owner has finished and committed, however long that takes',
  ),
  zombie: proof(
    'kafka/group.test.ts',
    'a frozen process that wakes up settles nothing, commits nothing and keeps no session alive',
  ),
  outOfOrder: proof('kafka/one-member.test.ts', 'commits only the gapless run when settled out of order'),
  sharedPartitions: suite(
    'delivery-log-cases.ts',
    'two processes share the partitions, keep their order and repeat nothing',
  ),
  lag: proof('kafka/one-member.test.ts', 'reports its lag'),
  loss: proof(
    'kafka/losses.test.ts',
    'deleted before they were read: counted, declared, and skipped only when accepted',
  ),
  transform: proof(
    'kafka/transform.test.ts',
    'writes the outputs of each record once, in order, and commits its position',
  ),
  transformKilled: proof(
    'kafka/transform.test.ts',
    "shows every output once, killed again and again, <named ? 'with' : 'without'> a name of its own",
  ),
  transformPolicy: proof(
    'kafka/transform-policy.test.ts',
    'retries in place, a bounded number of times, in the order of the partition',
  ),
  transformHostile: proof(
    'kafka/transform-policy.test.ts',
    'sets hostile records aside with their origin, in the transaction of their offset',
  ),
  transformOutage: proof(
    'kafka/transform-policy.test.ts',
    'pauses for an unavailable dependency, and sets nothing aside',
  ),
  transformMetrics: proof('kafka/transform-policy.test.ts', 'counts as a consumer does, and reports its lag'),
  transformDies: proof(
    'kafka/transform-kill.test.ts',
    'at <point> writes each output and each dead letter once',
  ),
  transformRun: proof(
    'examples/10-kafka-transform/payment-converter.test.ts',
    'reports its health, and is reviewed like a consumer',
  ),
  transformPromise: proof('kafka/transform.test.ts', 'the promise lists what it does not cover'),
  stream: proof(
    'rabbitmq-stream/source.test.ts',
    'delivers in order and continues at the settled position, with progress <progress>',
  ),
  streamFenced: proof(
    'rabbitmq-stream/processes.test.ts',
    "the active one is frozen: the other takes over, and the frozen one's transactions are fenced",
  ),
  addedPartitions: proof(
    'kafka/added-partitions.test.ts',
    'wait until older partitions are drained, where order is by key',
  ),
  keySkew: proof(
    'check/live-kafka.test.ts',
    'records have no key, or one key has most of them; then neither',
  ),
  lanes: proof(
    'unit/lanes.test.ts',
    'under any schedule a lane is never in two batches and its order is kept',
  ),
  keyOrder: suite('delivery-order-cases.ts', 'two processes together keep the order of every key'),
  retriedKey: suite(
    'delivery-order-cases.ts',
    'messages of one key are applied in order, also when some are retried',
  ),
  setAside: proof(
    'unit/log-consumer.test.ts',
    'set aside after its attempts, the rest of its partition follows',
  ),
  otherMoves: proof(
    'unit/log-consumer.test.ts',
    '<form>: its partition stays before it, the other one moves on',
  ),
  tracker: proof(
    'unit/log-progress.test.ts',
    'of a partition that went to another owner moves no more, and its entries count no more',
  ),
  trackerMemory: proof(
    'unit/log-progress.test.ts',
    'stays exact over thousands of records, when settled ones are thrown away',
  ),
}
