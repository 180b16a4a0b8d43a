import { brokersOf } from '../alert.ts'
import { increased, onceOf } from '../promql.ts'
import type { Runbook } from '../step.ts'
import { partitions, slowDatabase, slowSettling, status } from './steps.ts'

export const effectRunbooks: readonly Runbook[] = [
  {
    name: 'commit-failures',
    title: 'Transactions do not commit.',
    means:
      'Effect and marker were rolled back together and the batch is run again; the broker was not told. Nothing is lost and nothing happened twice, but nothing moves.',
    steps: [
      { text: 'Why?', queries: ({ series }) => [increased(series('commitFailures'), '15m', ['reason'])] },
      status,
      {
        text: 'Is the database up, writable and the right one: disk full, a standby, failing over, out of connections, a lock that is held (`pg_stat_activity`)?',
      },
      slowDatabase,
      {
        text: 'After a failover or a restore do not go on by hand: see runbook `restore-from-backup`.',
        commands: ({ file }) => [`onceward runbook ${file} restore-from-backup`],
      },
      {
        text: 'Serialization failures and deadlocks that do not end: handlers write the same rows in different orders. Order them, or make batches smaller.',
      },
    ],
    over: 'no transaction failed for ten minutes.',
  },
  {
    name: 'offset-commit-failures',
    title: 'The broker cannot be told what is done.',
    means:
      'The effects are durable here; the broker does not know and will hand them over again, to be recognised as repeats. With `settle.when: with effect` the position in the database decides and the broker’s is only a courtesy.',
    steps: [
      slowSettling,
      {
        text: 'Does the group rebalance, or the connection drop, again and again?',
        queries: ({ series }) => [increased(series('sourceEvents'), '1h', ['kind'])],
      },
      partitions,
      {
        text: 'Is a batch held for longer than the broker waits? Compare `batch.handlerTimeoutMs` with the broker’s limits (Kafka: session and poll intervals; RabbitMQ: `consumer_timeout`), and the login’s rights to commit for the group.',
      },
      {
        text: 'Expect repeats after each restart until it is mended.',
        commands: ({ file }) => [`onceward runbook ${file} duplicate-spike`],
      },
    ],
    over: 'nothing failed for ten minutes.',
  },
  {
    name: 'outbox-growing',
    title: 'Messages are not published.',
    means:
      'They are durable in the outbox and leave later, in order of their key, at least once under one id. Whoever reads them waits.',
    steps: [
      {
        text: 'Which broker, how many, how old, and what did it say last? Is there a relay, and does it hold buckets?',
        commands: () => ['onceward status'],
        queries: ({ series, consumer }) => {
          const broker = { broker: brokersOf(consumer) }
          return [
            onceOf(series('outboxOldest', broker), ['broker', 'destination']),
            onceOf(series('outboxSize', broker), ['broker', 'destination']),
            increased(series('publishFailures', broker), '1h', ['broker', 'code']),
          ]
        },
      },
      {
        text: 'Which messages does the broker not take, why, and how many wait behind each?',
        commands: () => ['onceward outbox'],
        queries: ({ series, consumer }) => {
          const broker = { broker: brokersOf(consumer) }
          return [
            onceOf(series('outboxFailing', broker), ['broker', 'destination']),
            onceOf(series('outboxBehind', broker), ['broker', 'destination']),
          ]
        },
      },
      {
        text: 'No relay: `onceward run` brings one; without a consumer start one of its own.',
        commands: ({ consumer }) => brokersOf(consumer).map(broker => `onceward relay --broker ${broker}`),
      },
      {
        text: 'The broker refuses: unroutable means that a queue, an exchange or a topic is missing; refused, that it is full, the message is too large for it, or rights are missing. Later messages of that key wait; others flow.',
      },
      {
        text: 'Too large for its topic or broker: raise the limit (Kafka: `max.message.bytes` of the topic; RabbitMQ: `max_message_size`), and it leaves within a minute. If nobody needs it any more, drop it: what waits behind it goes on. A dropped retry copy is a lost message, because nothing else has it; the message of a dead letter stays in the parking lot.',
        commands: () => ['onceward outbox drop ROW --message ID --because REASON'],
      },
      {
        text: 'The broker is away or raises an alarm (memory, disk): bring it back, the relay goes on by itself.',
      },
    ],
    over: 'the oldest is younger than `objectives.outboxAgeMax` and nothing is refused.',
  },
  {
    name: 'outbox-unserved',
    title: 'Messages wait for a destination that no relay is connected to.',
    means:
      'A row of the outbox names its cluster and virtual host, and only a relay that is connected there takes it. These rows are durable and go nowhere else; nothing is lost, but nobody will publish them until a relay is there.',
    steps: [
      {
        text: 'Which destination, how many, and which destinations have relays?',
        commands: () => ['onceward status'],
        queries: ({ series, consumer }) => [
          onceOf(series('outboxUnserved', { broker: brokersOf(consumer) }), ['broker', 'destination']),
        ],
      },
      {
        text: 'The consumer that writes them, or its relay, is down: start it again. Without a consumer start a relay with the address of that cluster and virtual host (`ONCEWARD_RABBITMQ_URL`, `ONCEWARD_KAFKA_BOOTSTRAP`).',
        commands: ({ consumer }) => brokersOf(consumer).map(broker => `onceward relay --broker ${broker}`),
      },
      {
        text: 'The cluster was renamed or replaced, or the name in the contract is not the one it announces: have a relay use the name that the rows have, by `ONCEWARD_RABBITMQ_CLUSTER` or `ONCEWARD_KAFKA_CLUSTER`. The part of a RabbitMQ destination before the slash is the cluster, the part behind it the virtual host.',
      },
      {
        text: 'The destination is only the name of a broker (`rabbitmq`, `kafka`): a writer without an address wrote it before any relay had connected, and there are several by now. Or it is gone for good, or was never right. Send what waits to the right one, and let writers name their `destination` while there are several.',
        commands: () => [
          'onceward destinations',
          'onceward destinations retire NAME --to DESTINATION --because REASON',
        ],
      },
    ],
    over: 'every destination with rows has a relay.',
  },
  {
    name: 'unknown-effects',
    title: 'Calls failed for good, or may have happened.',
    means:
      'A call was sent and its answer is missing, or attempts are used up. What the target’s policy allows was done; the rest waits for a person, because only the target knows.',
    steps: [
      {
        text: 'Which calls?',
        commands: ({ name }) => [
          `onceward ledger list --consumer ${name}`,
          `onceward ledger list --consumer ${name} --state unknown`,
          'onceward ledger show ID',
        ],
      },
      {
        text: 'Ask the target, by the effect key and the time: did it happen? Never guess. What led to the call, and every attempt:',
        commands: ({ file }) => [`onceward explain --effect KEY --contract ${file}`],
      },
      {
        text: 'Say what was found. `not-done` makes it one that failed, which may be tried again under the same key.',
        commands: ({ name }) => [
          `onceward ledger reconcile ID --as completed --consumer ${name} --because REASON`,
          `onceward ledger reconcile ID --as not-done --consumer ${name} --because REASON`,
          `onceward ledger retry ID --consumer ${name} --because REASON`,
        ],
      },
      {
        text: 'If it goes on, look at the target: errors, timeouts, its breaker, the life of its keys.',
        queries: ({ series }) => [increased(series('calls'), '1h', ['target', 'result'])],
      },
    ],
    over: 'no call is unknown or failed.',
  },
  {
    name: 'effects-delayed',
    title: 'Calls that are due are not made in time.',
    means: 'The intents are durable; the dispatcher is away, throttled, or its target refuses.',
    steps: [
      status,
      {
        text: 'What does the target answer, and how long does it take?',
        commands: ({ name }) => [`onceward ledger list --consumer ${name} --state open`],
        queries: ({ series }) => [
          increased(series('calls'), '1h', ['target', 'result']),
          `histogram_quantile(0.99, sum by (target, le) (rate(${series('callDuration', {}, '_bucket')}[10m])))`,
        ],
      },
      {
        text: 'Does a dispatcher run? It is part of `onceward run`; alone:',
        commands: ({ file }) => [`onceward run ${file} --part dispatcher`],
      },
      {
        text: 'Is the target’s own limit the reason (`concurrencyMax`, `ratePerSecondMax`)? Agree on more with its owner before raising it.',
      },
    ],
    over: 'the oldest is younger than `objectives.lagMax`.',
  },
]
