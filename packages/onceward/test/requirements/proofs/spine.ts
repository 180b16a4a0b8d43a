import { proof, suite } from './proof.ts'

/** Tests of the claim, the batch and the acknowledgement. */
export const spine = {
  racing: proof(
    'delivery/processes.test.ts',
    'twenty concurrent duplicates across four processes have one effect',
  ),
  twoPayloads: proof(
    'delivery/processes.test.ts',
    'one id with two payloads, racing in both orders: one applied, the other quarantined',
  ),
  crash: proof(
    'crash/crash-suite.ts',
    '<point>, passage <hit><kept>: restart loses nothing and doubles nothing',
  ),
  once: suite('delivery-duplicate-cases.ts', 'every message is applied once and settled'),
  again: suite('delivery-duplicate-cases.ts', 'a message published again later has no second effect'),
  twenty: suite('delivery-duplicate-cases.ts', 'twenty copies at once over three processes have one effect'),
  oneKey: suite('delivery-duplicate-cases.ts', 'one business key has one effect, under any message ids'),
  otherBytes: suite(
    'delivery-duplicate-cases.ts',
    'the same id with other bytes later is quarantined with its bytes (<order>)',
  ),
  throws: suite(
    'delivery-failure-cases.ts',
    'a handler that throws <when> it wrote has no effect and does not affect other messages',
  ),
  batchThrows: suite(
    'delivery-failure-cases.ts',
    'an error of a batch handler fails only the message that causes it',
  ),
  failsThenSucceeds: suite(
    'delivery-failure-cases.ts',
    'a message that fails and then succeeds is applied once, its failures counted',
  ),
  acrossProcesses: suite('delivery-failure-cases.ts', 'attempts are counted across processes'),
  verdicts: suite('delivery-failure-cases.ts', 'verdicts decide the outcome of a message (<how>)'),
  drains: suite('delivery-lifecycle-cases.ts', 'a drain finishes started work and acknowledges it'),
  comeAndGo: suite('delivery-lifecycle-cases.ts', 'processes that start and stop lose and repeat no message'),
  together: proof('adapters/commit-together.test.ts', 'commit together, once, for any number of deliveries'),
  lostCommit: proof(
    'delivery/database-faults.test.ts',
    'a lost COMMIT reply is never guessed: the batch is run again and recognises itself',
  ),
  uncommitted: proof(
    'delivery/database-faults.test.ts',
    "another transaction's uncommitted marker is waited for within bounds, never skipped",
  ),
  isolation: proof(
    'delivery/database-faults.test.ts',
    'under <isolation>, racing duplicates still have one effect',
  ),
  deadlocks: proof(
    'delivery/database-faults.test.ts',
    'deadlocks between handlers are retried and count as no attempt',
  ),
  databaseAway: proof(
    'delivery/database-faults.test.ts',
    'the database is unavailable: nothing is settled, the consumer waits and continues automatically',
  ),
  serversKilled: proof(
    'delivery/servers-killed.alone.test.ts',
    '<victim> is killed while two processes consume from <kind>: all are applied, each once',
  ),
  ackRange: proof(
    'rabbitmq/ack-tracker.test.ts',
    'an ack never covers an unsettled tag, and every settled tag is acked exactly once',
  ),
  staleTag: proof(
    'rabbitmq/source.test.ts',
    'reconnects after a cut, redelivers unsettled messages and never acks a stale tag',
  ),
  ackTimeout: proof(
    'rabbitmq/consumer-timeout.cluster.test.ts',
    'is reported as timed out and redelivered; the consumer continues',
  ),
  leaderKilled: proof(
    'rabbitmq/queue-scenes.ts',
    'the node of its leader is killed repeatedly: nothing is lost or applied twice',
  ),
  matrix: proof('matrix/matrix.test.ts', 'every pair of choices is run or refused'),
  swallowed: proof(
    'store/handler-mistakes.test.ts',
    'a swallowed SQL error commits nothing and is parked with the remedy',
  ),
  bypass: proof(
    'store/probe-rollback.test.ts',
    'detects a handler that bypasses tx, and shows the remaining rows',
  ),
  badIds: proof('unit/identity.test.ts', 'that is invalid is refused by name'),
  digest: proof('unit/digest.test.ts', 'is its version, then SHA-256 over the raw bytes'),
  simulated: proof('simulator/simulator.test.ts', '<schedules> of <scenario>'),
  cannotOrder: proof(
    'unit/consumer.test.ts',
    'does not start where the source cannot keep the declared order',
  ),
  identities: proof(
    'unit/read-message.test.ts',
    'returns the decoded value, its identities and the digest of its bytes',
  ),
}
