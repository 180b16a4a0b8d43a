/**
 * The answer to a review question or anti-pattern: a rule of `onceward check`, a field of the contract, or a
 * test of the design.
 */
export interface Answer {
  readonly rules?: readonly string[]
  /** Paths of the contract: `retention.markers`. */
  readonly fields?: readonly string[]
  /** A file below packages/onceward/test and a text in it. */
  readonly shownBy?: readonly [file: string, words: string]
  /** One sentence. */
  readonly how: string
}

export interface Question extends Answer {
  readonly section: string
  /** Paraphrased from the source document. */
  readonly asks: string
}

const crashSuite = ['crash/scenarios.ts', "'batch.committed'"] as const
const racing = [
  'delivery/processes.test.ts',
  'twenty concurrent duplicates across four processes have one effect',
] as const
const conflicting = [
  'delivery/processes.test.ts',
  'one id with two payloads, racing in both orders: one applied, the other quarantined',
] as const
const together = [
  'adapters/commit-together.test.ts',
  'commit together, once, for any number of deliveries',
] as const
const worked = [
  'parking/operate.test.ts',
  'fixes a payload: identity kept, both digests, diff shown, original kept, and then it is applied once',
] as const
const counted = [
  'telemetry/exact-counts.test.ts',
  'exports exactly those counts over HTTP, and /readyz and /livez answer',
] as const
const lowest = [
  'unit/log-progress.test.ts',
  'is directly after the longest settled run, in any order of settling',
] as const
const suppressed = [
  'replay/campaign.test.ts',
  'applies exactly the missing messages, in its mode, and records what it suppressed',
] as const

const list = (section: string, questions: readonly (Answer & { asks: string })[]): Question[] =>
  questions.map(question => ({ section, ...question }))

export const questions: readonly Question[] = [
  ...list('000 §25', [
    {
      asks: 'Automatic acknowledgement of work that matters',
      rules: ['OW121'],
      fields: ['settle.lossAcceptable'],
      how: 'Sources have no such mode. A contract can ask for acknowledgement before the effect, with a reason; for money this is refused.',
    },
    {
      asks: 'Acknowledging before the database has committed',
      shownBy: crashSuite,
      how: 'The consumer acknowledges after the commit. The crash tests kill a process between the two, and nothing is lost.',
    },
    {
      asks: 'Checking for a marker, then inserting it',
      shownBy: racing,
      how: 'The consumer inserts the marker and ignores conflicts; the unique constraint decides.',
    },
    {
      asks: 'A delivery tag as identity',
      rules: ['OW103'],
      shownBy: ['check/checklist-proofs.test.ts', 'is not read from a delivery tag: no such property exists'],
      how: 'Identities cannot be read from delivery tags. A header that changes with each delivery is an error.',
    },
    {
      asks: 'Markers removed too early',
      rules: ['OW162', 'OW163', 'OW501', 'OW502'],
      how: 'The check, and every start, compare retention with retries, campaigns and the retention of the broker.',
    },
    {
      asks: 'Deduplication state in memory only',
      shownBy: racing,
      how: 'Markers are rows. The memory store is for tests and reports that it is not durable.',
    },
    {
      asks: 'A slow call in the handler',
      rules: ['OW122', 'OW151', 'OW210'],
      fields: ['effect.external'],
      how: 'The handler records the call, and a dispatcher makes it after the commit.',
    },
    {
      asks: 'Retrying permanent failures',
      rules: ['OW133'],
      how: 'Validation, poison and corruption have one attempt unless the contract sets more.',
    },
    {
      asks: 'The same id with another payload is not detected',
      rules: ['OW105'],
      shownBy: conflicting,
      how: 'The marker has the digest of the raw bytes. A message with another digest is quarantined.',
    },
    {
      asks: 'Using a stream offset as proof of the effect',
      shownBy: [
        'rebalance/with-effect.extended.test.ts',
        'processes join, leave, die, freeze and restart under load: position with the effect',
      ],
      how: 'The position is committed after the effect, or in its transaction.',
    },
  ]),
  ...list('000 §26', [
    {
      asks: 'Which id is stable?',
      rules: ['OW101', 'OW102', 'OW103'],
      fields: ['identity.id'],
      how: 'Required.',
    },
    {
      asks: 'Which id identifies the business operation?',
      rules: ['OW104', 'OW106'],
      fields: ['identity.businessKey'],
      how: 'The business key, in addition to the message id.',
    },
    {
      asks: 'Is the operation idempotent by nature?',
      fields: ['effect.apply'],
      how: 'Declared effects are idempotent. A handler is protected by its marker.',
    },
    {
      asks: 'Do marker and business state commit together?',
      shownBy: together,
      how: 'Yes, in one transaction, also with an ORM.',
    },
    {
      asks: 'What if the process dies after the commit and before the acknowledgement?',
      shownBy: crashSuite,
      how: 'The redelivered message finds its marker and is acknowledged.',
    },
    {
      asks: 'What if duplicates arrive at the same time?',
      shownBy: racing,
      how: 'The second insert waits for the transaction of the first.',
    },
    {
      asks: 'What if one id has two payloads?',
      rules: ['OW105'],
      shownBy: conflicting,
      how: 'One is applied, the other quarantined.',
    },
    {
      asks: 'How long are markers kept?',
      rules: ['OW161', 'OW162', 'OW166', 'OW501'],
      fields: ['retention.markers'],
      how: 'As long as the contract or its risk class says, and never shorter than the source can repeat messages.',
    },
    {
      asks: 'Do external effects have a key or an outbox?',
      rules: ['OW122', 'OW123', 'OW124'],
      fields: ['effect.external', 'effect.publish'],
      how: 'Each target has a key and a repeat policy. Messages are published through the outbox.',
    },
    {
      asks: 'Can history be replayed without repeating effects?',
      shownBy: suppressed,
      how: 'Calls and messages are suppressed in all modes but live, unless a second person approved them.',
    },
    {
      asks: 'Do metrics show duplicates?',
      shownBy: counted,
      how: 'Every outcome is counted; duplicates have their own counter.',
    },
    {
      asks: 'Is the duplicate path tested?',
      shownBy: ['conformance/rabbitmq.test.ts', 'deliveryConformance'],
      how: 'The conformance suite tests it for every source and store. Users can run it too.',
    },
  ]),
  ...list('001 §35', [
    {
      asks: 'Assuming that there are no duplicates',
      shownBy: racing,
      how: 'A marker is inserted for every message before its effect.',
    },
    {
      asks: 'Committing the offset before critical work is done',
      rules: ['OW121'],
      fields: ['settle.when'],
      how: 'Refused for the risks money and regulatory.',
    },
    {
      asks: 'Retrying poison without end',
      rules: ['OW131', 'OW132', 'OW133'],
      fields: ['failure.attemptsMax'],
      how: 'The database counts attempts, and attempts are limited.',
    },
    {
      asks: 'Dead letters without an owner',
      fields: ['owner', 'failure.deadLetter'],
      how: 'An owner is required.',
    },
    {
      asks: 'Global order',
      rules: ['OW113', 'OW309'],
      fields: ['order'],
      how: 'A contract chooses order by key, by partition, or none.',
    },
    {
      asks: 'External effects without a key',
      rules: ['OW122', 'OW124'],
      fields: ['effect.external'],
      how: 'A target without keys declares what follows a lost call.',
    },
    {
      asks: 'Unreadable bytes stop the consumer',
      rules: ['OW141', 'OW142', 'OW143'],
      fields: ['message'],
      how: 'Decoding never throws: unreadable messages get a row and an outcome.',
    },
    {
      asks: 'Treating exactly-once as a broker setting',
      rules: ['OW302', 'OW404'],
      how: 'The effect is in the database. Broker transactions are used only from topic to topic.',
    },
    {
      asks: 'No alert on lag',
      fields: ['objectives'],
      how: 'Alerts are generated from the objectives of the contract.',
    },
    {
      asks: 'A consumer that is not safe to replay',
      rules: ['OW122', 'OW171'],
      fields: ['replay.modes'],
      how: 'Effects are suppressed by default, and the contract lists the allowed modes.',
    },
  ]),
  ...list('001 §37', [
    {
      asks: 'Which semantics are assumed?',
      fields: ['settle.when', 'dedup'],
      how: 'At-least-once delivery, one effect, unless the contract says otherwise.',
    },
    { asks: 'Can a message be delivered twice?', shownBy: racing, how: 'Yes: the design assumes it.' },
    {
      asks: 'Which value is the message id?',
      rules: ['OW101', 'OW103'],
      fields: ['identity.id'],
      how: 'Required.',
    },
    { asks: 'Is the consumer idempotent?', fields: ['dedup'], how: 'By marker, position or version.' },
    { asks: 'Which effects are there?', rules: ['OW122'], fields: ['effect'], how: 'Declared.' },
    {
      asks: 'Are external effects deduplicated?',
      rules: ['OW123', 'OW124'],
      fields: ['effect.external'],
      how: 'The ledger has one row per consumer, target and effect key.',
    },
    {
      asks: 'When is the message acknowledged?',
      rules: ['OW121'],
      fields: ['settle.when'],
      how: 'After the effect by default.',
    },
    {
      asks: 'What if the process dies before the acknowledgement?',
      shownBy: crashSuite,
      how: 'The message is redelivered, recognised and acknowledged.',
    },
    { asks: 'What if the process dies after the effect?', shownBy: crashSuite, how: 'The same.' },
    {
      asks: 'Is order needed?',
      rules: ['OW111', 'OW112'],
      fields: ['order'],
      how: 'The contract declares it, and the check compares it with the source.',
    },
    {
      asks: 'Which value is the partition key?',
      rules: ['OW310', 'OW311'],
      fields: ['identity.orderKey'],
      how: 'The check samples the real topic.',
    },
    {
      asks: 'What happens to poison?',
      fields: ['failure.poison'],
      rules: ['OW133'],
      how: 'It is parked with everything that a redrive needs.',
    },
    {
      asks: 'Do retries end?',
      rules: ['OW131', 'OW132'],
      fields: ['failure.attemptsMax'],
      how: 'Yes, attempts are always limited.',
    },
    {
      asks: 'Who owns the dead letters?',
      fields: ['owner', 'failure.deadLetter'],
      how: 'The owner of the contract, or the one named for dead letters.',
    },
    {
      asks: 'Is replay safe?',
      rules: ['OW171', 'OW172'],
      fields: ['replay'],
      how: 'External effects are suppressed, and markers skip applied messages.',
    },
    {
      asks: 'Are invalid schemas and bytes handled?',
      rules: ['OW141', 'OW142', 'OW143', 'OW144'],
      fields: ['message'],
      how: 'Such messages are set aside with the reason.',
    },
    { asks: 'Is lag monitored?', fields: ['objectives'], how: 'Alerts are generated from the objectives.' },
    {
      asks: 'Are duplicates tested?',
      shownBy: ['conformance/kafka.test.ts', 'deliveryConformance'],
      how: 'By the conformance suites.',
    },
    {
      asks: 'Are crash windows tested?',
      shownBy: crashSuite,
      how: 'The crash tests kill a process at every named crash point.',
    },
    {
      asks: 'Is there a runbook?',
      fields: ['owner', 'objectives'],
      how: '"onceward runbook" prints one for each consumer.',
    },
  ]),
  ...list('003 §23', [
    {
      asks: 'The offset first, the effect later',
      rules: ['OW121'],
      shownBy: crashSuite,
      how: 'The engine orders the steps, not the handler.',
    },
    { asks: 'Deduplicating in memory', shownBy: racing, how: 'Markers are rows that all processes share.' },
    {
      asks: 'The offset as business identity',
      rules: ['OW101', 'OW102'],
      fields: ['identity.id'],
      how: "A contract must ask for 'position', and it is an error for money.",
    },
    {
      asks: 'One table of markers for all consumers',
      rules: ['OW181', 'OW505'],
      shownBy: ['conformance/postgres.test.ts', 'storeConformance'],
      how: 'The consumer is part of the key.',
    },
    {
      asks: 'Poison skipped without evidence',
      shownBy: [
        'poison/killers.test.ts',
        'is found within (attempts + log2 n + 1) restarts while thousands of other messages are applied once',
      ],
      how: 'Poison is parked, dead-lettered or quarantined with its bytes.',
    },
    {
      asks: 'Markers deleted too early',
      rules: ['OW162', 'OW164', 'OW501'],
      fields: ['retention.behindHorizon'],
      how: 'In addition, messages older than the remaining markers are parked.',
    },
    {
      asks: 'Corrections treated as duplicates',
      rules: ['OW105'],
      shownBy: [
        'effects/projection.test.ts',
        'reports a conflict for the same version with other content where a digest column is declared',
      ],
      how: 'Another digest is a conflict. Declared effects support corrections.',
    },
  ]),
  ...list('003 §24', [
    {
      asks: 'Which event id is stable?',
      rules: ['OW101', 'OW103'],
      fields: ['identity.id', 'identity.eventId'],
      how: 'Required.',
    },
    {
      asks: 'Which key does each effect have?',
      rules: ['OW104'],
      fields: ['identity.businessKey', 'identity.idempotencyKey'],
      how: 'The business key. Each external effect has its own key.',
    },
    {
      asks: 'Where is the state of effects kept?',
      rules: ['OW415', 'OW508'],
      how: 'In the schema onceward, in the database of the effect.',
    },
    {
      asks: 'Is it committed with the sink?',
      rules: ['OW407'],
      shownBy: together,
      how: 'One transaction.',
    },
    {
      asks: 'What if the process dies between the sink and the offset?',
      shownBy: crashSuite,
      how: 'The repeated message is recognised.',
    },
    {
      asks: 'What if an event is replayed after a month?',
      rules: ['OW162', 'OW171', 'OW222', 'OW303', 'OW501'],
      fields: ['replay.window', 'retention.markers'],
      how: 'It is recognised while its marker exists, and parked afterwards.',
    },
    { asks: 'What if two workers get the same event?', shownBy: racing, how: 'One applies it.' },
    {
      asks: 'What if events of one entity arrive out of order?',
      rules: ['OW112', 'OW310'],
      fields: ['order', 'effect.apply'],
      how: 'The contract orders by key, or the effect compares versions.',
    },
    {
      asks: 'What if the producer repeats an operation under a new id?',
      rules: ['OW104', 'OW106'],
      fields: ['identity.businessKey'],
      how: 'The business key recognises it.',
    },
    {
      asks: 'What if it fails a hundred times?',
      rules: ['OW131'],
      fields: ['failure.attemptsMax'],
      how: 'It is set aside after its last attempt.',
    },
    {
      asks: 'How are quarantined messages resolved?',
      fields: ['failure.deadLetter', 'owner'],
      shownBy: worked,
      how: 'With "onceward parked": show, fix, redrive or delete, all audited.',
    },
    {
      asks: 'How long is deduplication state kept?',
      rules: ['OW161', 'OW162', 'OW166', 'OW501'],
      fields: ['retention'],
      how: 'As long as the contract declares; the consumer enforces it.',
    },
    {
      asks: 'How does a backfill avoid external calls?',
      shownBy: suppressed,
      how: 'Calls and messages are suppressed in every mode but live.',
    },
    {
      asks: 'Which metrics distinguish broker lag from inbox lag?',
      fields: ['objectives'],
      shownBy: [
        'check/checklist-proofs.test.ts',
        'what waits at the source and what waits in the store are two metrics',
      ],
      how: 'Messages at the broker and messages in the store have separate metrics.',
    },
    {
      asks: 'Can an operator say why a row exists?',
      rules: ['OW173', 'OW174'],
      fields: ['handlerVersion', 'identity.correlationId'],
      how: 'Every marker names its run, and every run its code version.',
    },
  ]),
  ...list('004 §29', [
    {
      asks: 'No automatic offset commits',
      shownBy: ['kafka/one-member.test.ts', 'commits settled positions and continues there after a restart'],
      how: 'The client has none. Of ten records read and six settled, six are committed.',
    },
    {
      asks: 'Offsets after the durable effect',
      shownBy: crashSuite,
      how: 'The engine commits the offset after the database commit.',
    },
    {
      asks: 'Processing a record twice is safe',
      rules: ['OW104'],
      shownBy: racing,
      how: 'The marker decides.',
    },
    {
      asks: 'The idempotency key is stable and from the domain',
      rules: ['OW101', 'OW103', 'OW106'],
      fields: ['identity.businessKey'],
      how: 'It is read from a value that the producer sets.',
    },
    {
      asks: 'Effect and marker in one transaction',
      rules: ['OW407'],
      shownBy: together,
      how: 'Always one transaction.',
    },
    {
      asks: 'The partition key keeps the order that is needed',
      rules: ['OW111', 'OW310', 'OW311'],
      fields: ['identity.orderKey'],
      how: 'The check compares it with the records.',
    },
    {
      asks: 'A batch that fails does not commit past the failing record',
      shownBy: lowest,
      how: 'The committed position is the lowest unfinished one.',
    },
    {
      asks: 'A rebalance commits only completed records',
      rules: ['OW152'],
      shownBy: [
        'rebalance/broker-offsets.extended.test.ts',
        'processes join, leave, die, freeze and restart under load: offsets on the broker',
      ],
      how: 'The consumer finishes and commits revoked partitions, and commits nothing for lost ones.',
    },
    {
      asks: 'The broker client is not called from several places',
      shownBy: [
        'check/checklist-proofs.test.ts',
        'a handler is given the message and its transaction, and nothing of the client of the broker',
      ],
      how: 'Handlers have no access to the client.',
    },
    {
      asks: 'Batch size and handling time are bounded',
      rules: ['OW144', 'OW151', 'OW152', 'OW210'],
      fields: ['batch.sizeMax', 'batch.handlerTimeoutMs'],
      how: 'Both have limits by default.',
    },
    {
      asks: 'A policy for poison exists',
      rules: ['OW133'],
      fields: ['failure.poison', 'failure.policies'],
      how: 'There is a default policy.',
    },
    {
      asks: 'Dead letters keep their metadata',
      rules: ['OW207', 'OW208'],
      shownBy: [
        'check/checklist-proofs.test.ts',
        'a dead letter keeps its bytes, headers, properties, origin and the reason',
      ],
      how: 'Bytes, headers, properties, position and the reason are kept.',
    },
    {
      asks: 'Replay from retained records is tested',
      rules: ['OW222', 'OW303'],
      shownBy: [
        'replay/logs.test.ts',
        'applies the missing records between two offsets, and neither joins nor commits to the group',
      ],
      how: 'Campaigns run on real logs, and the check compares the retention of the log with replay.window.',
    },
    {
      asks: 'Lag is monitored per partition',
      fields: ['objectives'],
      how: 'A gauge reports lag per partition.',
    },
    {
      asks: 'Duplicates, ignored and stale messages are counted',
      shownBy: counted,
      how: 'Each outcome has a counter.',
    },
    {
      asks: 'Shutdown finishes or safely abandons work in progress',
      shownBy: ['conformance/rabbitmq.test.ts', 'deliveryConformance'],
      how: 'A drain finishes started work. After its deadline, unfinished work is not acknowledged, and the next process applies it once.',
    },
  ]),
  ...list('004 §30', [
    {
      asks: 'Trusting the broker to make everything happen exactly once',
      rules: ['OW122', 'OW124', 'OW404'],
      how: 'Every effect outside the database is declared with its own key and policy.',
    },
    {
      asks: 'The offset as business identity',
      rules: ['OW101', 'OW102'],
      fields: ['identity.id'],
      how: 'A contract must ask for it, and it is an error for money.',
    },
    { asks: 'Ignoring duplicates', shownBy: racing, how: 'A marker is inserted for every message.' },
    {
      asks: 'Blind increments',
      fields: ['effect.apply'],
      shownBy: ['effects/contribution.test.ts', 'a fact counts once, under any message id, now or before'],
      how: 'A marker protects the increment of a handler. Contributions record each fact.',
    },
    {
      asks: 'Parallel work without ordered offsets',
      shownBy: lowest,
      how: 'Out-of-order completion never moves the position past an unfinished record.',
    },
    {
      asks: 'Dead letters that cannot be reprocessed',
      rules: ['OW136', 'OW165', 'OW213'],
      shownBy: [
        'replay/parked.test.ts',
        'applies one of two dead letters of one business key, and leaves the other',
      ],
      how: 'Every message that is set aside can be fixed and redriven.',
    },
  ]),
]
