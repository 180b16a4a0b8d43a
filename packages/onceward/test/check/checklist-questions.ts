/**
 * What answers a question of a review or rules an anti-pattern out: a rule of the checker, a field the
 * contract must or can answer it by, or the design, shown by a test.
 */
export interface Answer {
  readonly rules?: readonly string[]
  /** Paths of the contract: `retention.markers`. */
  readonly fields?: readonly string[]
  /** A file below packages/onceward/test and words that stand in it. */
  readonly shownBy?: readonly [file: string, words: string]
  /** How, in a sentence. */
  readonly how: string
}

export interface Question extends Answer {
  readonly section: string
  /** In our words. */
  readonly asks: string
}

const crashSuite = ['crash/scenarios.ts', "'batch.committed'"] as const
const racing = [
  'spine/processes.test.ts',
  'twenty concurrent duplicates across four processes have one effect',
] as const
const conflicting = [
  'spine/processes.test.ts',
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
  'observe/exact-counts.test.ts',
  'exports exactly those counts over HTTP, and /readyz and /livez answer',
] as const
const lowest = [
  'unit/log-progress.test.ts',
  'is right behind the longest run that is settled, in any order of settling',
] as const
const suppressed = [
  'replay/campaign.test.ts',
  'applies exactly the holes, in its mode, and writes down what it suppressed',
] as const

const list = (section: string, questions: readonly (Answer & { asks: string })[]): Question[] =>
  questions.map(question => ({ section, ...question }))

export const questions: readonly Question[] = [
  ...list('000 §25', [
    {
      asks: 'Automatic acknowledgement of work that matters',
      rules: ['OW121'],
      fields: ['settle.lossAcceptable'],
      how: 'Sources have no such mode; telling the broker first must be asked for with a reason, and is refused for money.',
    },
    {
      asks: 'Acknowledging before the database has committed',
      shownBy: crashSuite,
      how: 'Settling follows the commit; a process is killed between the two and nothing is lost.',
    },
    {
      asks: 'Looking for a marker first and inserting it afterwards',
      shownBy: racing,
      how: 'The marker is inserted with conflicts ignored; the unique constraint decides.',
    },
    {
      asks: 'A delivery tag as identity',
      rules: ['OW103'],
      shownBy: ['check/checklist-proofs.test.ts', 'is not read from a delivery tag: no such property exists'],
      how: 'Tags are not among what identities can be read from, and headers that change with each delivery are an error.',
    },
    {
      asks: 'Markers forgotten too early',
      rules: ['OW162', 'OW163', 'OW501', 'OW502'],
      how: 'Retention is held against retries, campaigns and what the broker really keeps, here and at every start.',
    },
    {
      asks: 'Remembering in memory only',
      shownBy: racing,
      how: 'Markers are rows; the memory store is for tests and says that it is not durable.',
    },
    {
      asks: 'A slow call inside the delivery',
      rules: ['OW122', 'OW151', 'OW210'],
      fields: ['effect.external'],
      how: 'Calls are intents that a dispatcher makes after the commit.',
    },
    {
      asks: 'Trying again what can never succeed',
      rules: ['OW133'],
      how: 'Validation, poison and corruption have one attempt unless a contract says otherwise.',
    },
    {
      asks: 'The same id with another payload goes unnoticed',
      rules: ['OW105'],
      shownBy: conflicting,
      how: 'The digest of the raw bytes is kept with the marker; a difference is quarantined.',
    },
    {
      asks: 'Taking a stream offset for proof that the effect happened',
      shownBy: [
        'rebalance/with-effect.test.ts',
        'processes join, leave, die, freeze and restart under load: position with the effect',
      ],
      how: 'The position follows the effect, or is written in its transaction.',
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
      asks: 'Which id names the business operation?',
      rules: ['OW104', 'OW106'],
      fields: ['identity.businessKey'],
      how: 'A key of its own, beside the message id.',
    },
    {
      asks: 'Is the operation idempotent by nature?',
      fields: ['effect.apply'],
      how: 'Declared effects are; a handler is made so by its marker.',
    },
    {
      asks: 'Do marker and business state commit together?',
      shownBy: together,
      how: 'One transaction, also in the transactions of an ORM.',
    },
    {
      asks: 'What if it dies after the commit and before the ack?',
      shownBy: crashSuite,
      how: 'The redelivery finds its marker and is settled.',
    },
    {
      asks: 'What if duplicates arrive at the same time?',
      shownBy: racing,
      how: 'The second insert waits for the first one’s transaction.',
    },
    {
      asks: 'What if one id comes with two payloads?',
      rules: ['OW105'],
      shownBy: conflicting,
      how: 'One is applied, the other quarantined.',
    },
    {
      asks: 'How long are markers kept?',
      rules: ['OW161', 'OW162', 'OW501'],
      fields: ['retention.markers'],
      how: 'As the contract says or its risk decides, never shorter than a repeat can come.',
    },
    {
      asks: 'Do external effects have a key or an outbox?',
      rules: ['OW122', 'OW123', 'OW124'],
      fields: ['effect.external', 'effect.publish'],
      how: 'Each target has a key and a policy for repeats; messages go by the outbox.',
    },
    {
      asks: 'Can history be replayed without repeating effects?',
      shownBy: suppressed,
      how: 'In all modes but live, calls and messages are suppressed unless people approved them.',
    },
    {
      asks: 'Can duplicates be seen in metrics?',
      shownBy: counted,
      how: 'Every outcome is counted, duplicates apart.',
    },
    {
      asks: 'Is the duplicate path tested?',
      shownBy: ['conformance/rabbitmq.test.ts', 'deliveryConformance'],
      how: 'The conformance suite of each source and store, which users can run as well.',
    },
  ]),
  ...list('001 §35', [
    {
      asks: 'Assuming that there are no duplicates',
      shownBy: racing,
      how: 'Every message is claimed before it is applied.',
    },
    {
      asks: 'Committing before critical work is done',
      rules: ['OW121'],
      fields: ['settle.when'],
      how: 'Refused for money and regulatory.',
    },
    {
      asks: 'Trying poison for ever',
      rules: ['OW131', 'OW132', 'OW133'],
      fields: ['failure.attemptsMax'],
      how: 'Attempts are counted durably and end.',
    },
    {
      asks: 'Dead letters without an owner',
      fields: ['owner', 'failure.deadLetter'],
      how: 'An owner is required.',
    },
    {
      asks: 'One order over everything',
      rules: ['OW113', 'OW309'],
      fields: ['order'],
      how: 'Order is asked for by key, by partition, or not at all.',
    },
    {
      asks: 'Effects outside without a key',
      rules: ['OW122', 'OW124'],
      fields: ['effect.external'],
      how: 'A target without keys must say what may follow a lost call.',
    },
    {
      asks: 'Bytes that cannot be read stop the consumer before its handler',
      rules: ['OW141', 'OW142', 'OW143'],
      fields: ['message'],
      how: 'Reading never throws: such bytes get a row and an outcome.',
    },
    {
      asks: 'Taking exactly-once for a switch of the broker',
      rules: ['OW302', 'OW404'],
      how: 'The effect is in the database; a broker’s transactions are used only from topic to topic.',
    },
    {
      asks: 'No alert on lag',
      fields: ['objectives'],
      how: 'Alerts are made from the contract’s objectives.',
    },
    {
      asks: 'A consumer for which replay is not safe',
      rules: ['OW122', 'OW171'],
      fields: ['replay.modes'],
      how: 'Suppression is the default; a contract says which modes people may start.',
    },
  ]),
  ...list('001 §37', [
    {
      asks: 'Which semantics are assumed?',
      fields: ['settle.when', 'dedup'],
      how: 'At least once, applied once, unless said otherwise.',
    },
    { asks: 'Can a message come twice?', shownBy: racing, how: 'It is taken for granted.' },
    {
      asks: 'Which is the message id?',
      rules: ['OW101', 'OW103'],
      fields: ['identity.id'],
      how: 'Required.',
    },
    { asks: 'Is the consumer idempotent?', fields: ['dedup'], how: 'By marker, position or version.' },
    { asks: 'Which effects are there?', rules: ['OW122'], fields: ['effect'], how: 'Declared.' },
    {
      asks: 'Are effects outside deduplicated?',
      rules: ['OW123', 'OW124'],
      fields: ['effect.external'],
      how: 'By consumer, target and effect key in the ledger.',
    },
    {
      asks: 'When is the message acknowledged?',
      rules: ['OW121'],
      fields: ['settle.when'],
      how: 'After the effect by default.',
    },
    {
      asks: 'What if it dies before telling?',
      shownBy: crashSuite,
      how: 'Redelivered, recognised, settled.',
    },
    { asks: 'What if it dies after the effect?', shownBy: crashSuite, how: 'The same.' },
    {
      asks: 'Is order needed?',
      rules: ['OW111', 'OW112'],
      fields: ['order'],
      how: 'Said in the contract and held against the source.',
    },
    {
      asks: 'Which is the partition key?',
      rules: ['OW310', 'OW311'],
      fields: ['identity.orderKey'],
      how: 'Sampled on the real topic.',
    },
    {
      asks: 'What happens to poison?',
      fields: ['failure.poison'],
      rules: ['OW133'],
      how: 'Parked, with everything needed to come back.',
    },
    {
      asks: 'Do retries end?',
      rules: ['OW131', 'OW132'],
      fields: ['failure.attemptsMax'],
      how: 'Always bounded.',
    },
    {
      asks: 'Who owns the dead letters?',
      fields: ['owner', 'failure.deadLetter'],
      how: 'The owner, or the one named.',
    },
    {
      asks: 'Is replay safe?',
      rules: ['OW171', 'OW172'],
      fields: ['replay'],
      how: 'Suppressed effects, and markers that skip what is done.',
    },
    {
      asks: 'Are broken schemas and bytes handled?',
      rules: ['OW141', 'OW142', 'OW143', 'OW144'],
      fields: ['message'],
      how: 'Set aside with the reason.',
    },
    { asks: 'Is lag watched?', fields: ['objectives'], how: 'Alerts are made from it.' },
    {
      asks: 'Are there tests of duplicates?',
      shownBy: ['conformance/kafka.test.ts', 'deliveryConformance'],
      how: 'The conformance suites.',
    },
    {
      asks: 'Are crash windows tested?',
      shownBy: crashSuite,
      how: 'A process is killed at every named point.',
    },
    {
      asks: 'Is there a runbook?',
      fields: ['owner', 'objectives'],
      how: 'Made per consumer by "onceward runbook".',
    },
  ]),
  ...list('003 §23', [
    {
      asks: 'The offset first, the effect later',
      rules: ['OW121'],
      shownBy: crashSuite,
      how: 'The order is the engine’s, not the handler’s.',
    },
    { asks: 'Deduplicating in memory', shownBy: racing, how: 'Markers are rows, shared by all processes.' },
    {
      asks: 'The offset as business identity',
      rules: ['OW101', 'OW102'],
      fields: ['identity.id'],
      how: "'position' must be asked for, and is an error where money is concerned.",
    },
    {
      asks: 'One table of markers for all consumers',
      rules: ['OW181', 'OW505'],
      shownBy: ['conformance/postgres.test.ts', 'storeConformance'],
      how: 'The consumer is part of the key.',
    },
    {
      asks: 'Poison that is skipped without evidence',
      shownBy: [
        'poison/killers.test.ts',
        'is found within (attempts + log2 n + 1) restarts while thousands of neighbours arrive once',
      ],
      how: 'Nothing is skipped: it is parked, dead-lettered or quarantined with its bytes.',
    },
    {
      asks: 'Markers deleted too early',
      rules: ['OW162', 'OW164', 'OW501'],
      fields: ['retention.behindHorizon'],
      how: 'And what is older than the markers that are left is parked.',
    },
    {
      asks: 'Corrections taken for duplicates',
      rules: ['OW105'],
      shownBy: [
        'effects/projection.test.ts',
        'says conflict of the same version with other content where a digest column is declared',
      ],
      how: 'Another digest is a conflict; declared effects have corrections.',
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
      asks: 'Which key has each effect?',
      rules: ['OW104'],
      fields: ['identity.businessKey', 'identity.idempotencyKey'],
      how: 'The business key; external effects have one each.',
    },
    {
      asks: 'Where is the state of effects kept?',
      rules: ['OW415', 'OW508'],
      how: 'In the database of the effect, schema onceward.',
    },
    {
      asks: 'Is it committed with the sink?',
      rules: ['OW407'],
      shownBy: together,
      how: 'One transaction.',
    },
    {
      asks: 'What if it dies between the sink and the offset?',
      shownBy: crashSuite,
      how: 'The repeat is recognised.',
    },
    {
      asks: 'What if an event is replayed after a month?',
      rules: ['OW162', 'OW171', 'OW222', 'OW303', 'OW501'],
      fields: ['replay.window', 'retention.markers'],
      how: 'Recognised while its marker is kept, parked once it is not.',
    },
    { asks: 'What if two workers get the same event?', shownBy: racing, how: 'One applies it.' },
    {
      asks: 'What if events of one thing come out of order?',
      rules: ['OW112', 'OW310'],
      fields: ['order', 'effect.apply'],
      how: 'Order by key, or a version guard.',
    },
    {
      asks: 'What if the producer repeats itself under a new id?',
      rules: ['OW104', 'OW106'],
      fields: ['identity.businessKey'],
      how: 'The business key recognises it.',
    },
    {
      asks: 'What if it fails a hundred times?',
      rules: ['OW131'],
      fields: ['failure.attemptsMax'],
      how: 'It ends after its attempts.',
    },
    {
      asks: 'How is quarantine worked off?',
      fields: ['failure.deadLetter', 'owner'],
      shownBy: worked,
      how: 'By "onceward parked": look, fix, replay, delete, with an audit.',
    },
    {
      asks: 'How long is memory kept?',
      rules: ['OW161', 'OW162', 'OW501'],
      fields: ['retention'],
      how: 'Said and enforced.',
    },
    {
      asks: 'How does a backfill keep from calling others?',
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
      how: 'Every marker names its run, every run its code.',
    },
  ]),
  ...list('004 §29', [
    {
      asks: 'No automatic offset commits',
      shownBy: ['kafka/one-member.test.ts', 'commits what is settled and goes on there after a restart'],
      how: 'Our client has none: of ten records that were taken and six that were settled, six are committed.',
    },
    {
      asks: 'Offsets after the durable effect',
      shownBy: crashSuite,
      how: 'The engine settles after the commit.',
    },
    { asks: 'Doing it twice is safe', rules: ['OW104'], shownBy: racing, how: 'The marker decides.' },
    {
      asks: 'The idempotency key is stable and of the domain',
      rules: ['OW101', 'OW103', 'OW106'],
      fields: ['identity.businessKey'],
      how: 'Read from what the producer sets.',
    },
    {
      asks: 'Effect and marker in one transaction',
      rules: ['OW407'],
      shownBy: together,
      how: 'Always.',
    },
    {
      asks: 'The partition key keeps the order that is needed',
      rules: ['OW111', 'OW310', 'OW311'],
      fields: ['identity.orderKey'],
      how: 'Held against the records.',
    },
    {
      asks: 'A batch that fails does not commit past the failing record',
      shownBy: lowest,
      how: 'The position is the lowest unfinished one.',
    },
    {
      asks: 'A rebalance commits what is complete and nothing else',
      rules: ['OW152'],
      shownBy: [
        'rebalance/broker-offsets.test.ts',
        'processes join, leave, die, freeze and restart under load: offsets on the broker',
      ],
      how: 'Revoked partitions are finished and committed; lost ones are not.',
    },
    {
      asks: 'The client is not called from anywhere',
      shownBy: [
        'check/checklist-proofs.test.ts',
        'a handler is given the message and its transaction, and nothing of the client of the broker',
      ],
      how: 'Handlers never see it.',
    },
    {
      asks: 'Batch size and handling time are bounded',
      rules: ['OW144', 'OW151', 'OW152', 'OW210'],
      fields: ['batch.sizeMax', 'batch.handlerTimeoutMs'],
      how: 'Both have limits by default.',
    },
    {
      asks: 'There is a policy for poison',
      rules: ['OW133'],
      fields: ['failure.poison', 'failure.policies'],
      how: 'By default too.',
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
      asks: 'Replay from what is retained has been tested',
      rules: ['OW222', 'OW303'],
      shownBy: [
        'replay/logs.test.ts',
        'applies the holes between two offsets, and neither joins nor commits to the group',
      ],
      how: 'Campaigns on real logs; what the log keeps is held against the window.',
    },
    { asks: 'Lag is watched per partition', fields: ['objectives'], how: 'A gauge per partition.' },
    {
      asks: 'Duplicates, ignored and stale messages are counted',
      shownBy: counted,
      how: 'Each outcome has its count.',
    },
    {
      asks: 'Shutting down finishes or safely gives up what is under way',
      shownBy: ['conformance/rabbitmq.test.ts', 'deliveryConformance'],
      how: 'A drain finishes what it began; past its deadline nothing unfinished is settled, and the next process applies it once.',
    },
  ]),
  ...list('004 §30', [
    {
      asks: 'Trusting the broker to make everything happen exactly once',
      rules: ['OW122', 'OW124', 'OW404'],
      how: 'What leaves the database is declared with its own key and policy.',
    },
    {
      asks: 'The offset as business identity',
      rules: ['OW101', 'OW102'],
      fields: ['identity.id'],
      how: 'As above.',
    },
    { asks: 'Leaving duplicates out of account', shownBy: racing, how: 'Every message is claimed.' },
    {
      asks: 'Blind increments',
      fields: ['effect.apply'],
      shownBy: ['effects/contribution.test.ts', 'a fact counts once, under any message id, now or before'],
      how: 'A handler’s increment is guarded by its marker; contributions keep a ledger.',
    },
    {
      asks: 'Parallel work without order among offsets',
      shownBy: lowest,
      how: 'Out-of-order completion never moves the position past what is unfinished.',
    },
    {
      asks: 'Dead letters without a way back',
      rules: ['OW136', 'OW165', 'OW213'],
      shownBy: [
        'replay/parked.test.ts',
        'applies one of two dead letters of one business key, and leaves the other',
      ],
      how: 'Everything that is set aside can be fixed and replayed.',
    },
  ]),
]
