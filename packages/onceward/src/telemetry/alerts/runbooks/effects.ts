import { brokersOf } from '../alert.ts'
import { increased, onceOf } from '../promql.ts'
import type { Runbook } from '../step.ts'
import { partitions, slowDatabase, slowSettling, status } from './steps.ts'

export const effectRunbooks: readonly Runbook[] = [
  {
    name: 'commit-failures',
    title: 'Transactions do not commit.',
    means:
      'Effect and marker were rolled back together, and the batch runs again. Nothing was acknowledged. Nothing is lost and nothing happened twice, but nothing moves.',
    steps: [
      {
        text: 'Find the reason.',
        queries: ({ series }) => [increased(series('commitFailures'), '15m', ['reason'])],
      },
      status,
      {
        text: 'Is the database up, writable and the right one? Check for a full disk, a standby, a failover, used-up connections, and held locks (`pg_stat_activity`).',
      },
      slowDatabase,
      {
        text: 'After a failover or a restore, change nothing by hand. Follow runbook `restore-from-backup`.',
        commands: ({ file }) => [`onceward runbook ${file} restore-from-backup`],
      },
      {
        text: 'Serialization failures and deadlocks that do not end: handlers write the same rows in different orders. Sort the writes, or make batches smaller.',
      },
    ],
    over: 'no transaction failed for ten minutes.',
  },
  {
    name: 'offset-commit-failures',
    title: 'Acknowledgements fail.',
    means:
      'The effects are durable here. The broker does not know it and redelivers the messages; the consumer recognises them as duplicates. With `settle.when: with effect` the position in the database decides, and the broker’s position is informational.',
    steps: [
      slowSettling,
      {
        text: 'Does the group rebalance, or the connection drop, again and again?',
        queries: ({ series }) => [increased(series('sourceEvents'), '1h', ['kind'])],
      },
      partitions,
      {
        text: 'Does a batch take longer than the broker waits? Compare `batch.handlerTimeoutMs` with the broker’s limits (Kafka: session and poll intervals; RabbitMQ: `consumer_timeout`). Check that the login may commit for the group.',
      },
      {
        text: 'Expect duplicates after each restart until it is fixed.',
        commands: ({ file }) => [`onceward runbook ${file} duplicate-spike`],
      },
    ],
    over: 'no acknowledgement failed for ten minutes.',
  },
  {
    name: 'version-gap',
    title: 'Versions are missing in front of messages of a projection.',
    means:
      'An earlier version of the key did not arrive: it was lost, is late, was set aside, or is on another partition. The contract decides what happens to the message after it: applied anyway, parked, quarantined, retried until a repair, or left to a rebuild. The projection may be incomplete until the missing version is known.',
    steps: [
      {
        text: 'Which results, and how many?',
        queries: ({ series }) => [increased(series('results'), '1h', ['code'])],
      },
      {
        text: 'Which keys and versions? The reason of each message names both.',
        commands: ({ name }) => [
          `onceward parked groups --consumer ${name}`,
          `onceward parked list --consumer ${name}`,
          `onceward explain --message ID --consumer ${name}`,
        ],
      },
      {
        text: 'Was the missing version set aside, by this consumer or on its way? Redrive it first; the messages behind it follow.',
        commands: ({ name }) => [`onceward work list --consumer ${name}`],
      },
      {
        text: 'It was never published: ask the producer. Then rebuild the key from its source, or accept the state as it is and release the key.',
      },
      {
        text: 'It happens for many keys: check that the partition key is the aggregate, and that the producer publishes from one outbox in order.',
      },
    ],
    over: 'no message had this result for 15 minutes, and the keys named were repaired or accepted.',
  },
  {
    name: 'outbox-growing',
    title: 'Messages are not published.',
    means:
      'They are durable in the outbox. The relay publishes them later, in the order of their key, at least once under one id. Their readers wait.',
    steps: [
      {
        text: 'Which broker, how many, how old, and what was its last error? Does a relay run, and does it hold buckets?',
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
        text: 'Which messages does the broker reject, why, and how many wait behind each?',
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
        text: 'No relay: `onceward run` includes one. Without a consumer, start a relay process.',
        commands: ({ consumer }) => brokersOf(consumer).map(broker => `onceward relay --broker ${broker}`),
      },
      {
        text: 'The broker rejects: `unroutable` means that a queue, an exchange or a topic is missing. `refused` means that it is full, that the message is too large, or that rights are missing. Later messages of that key wait; other keys continue.',
      },
      {
        text: 'Too large for its topic or broker: raise the limit (Kafka: `max.message.bytes` of the topic; RabbitMQ: `max_message_size`). The relay sends it within a minute. If no reader needs it any more, drop it: the messages behind it continue. A dropped retry copy is a lost message, because no other copy exists. The message of a dropped dead letter stays in the parking lot.',
        commands: () => ['onceward outbox drop ROW --message ID --because REASON'],
      },
      {
        text: 'The broker is unavailable or raises an alarm (memory, disk): bring it back. The relay continues automatically.',
      },
    ],
    over: 'the oldest is younger than `objectives.outboxAgeMax` and the broker rejects nothing.',
  },
  {
    name: 'outbox-unserved',
    title: 'Messages wait for a destination that no relay is connected to.',
    means:
      'A row of the outbox names its cluster and virtual host, and only a relay that is connected there publishes it. These rows are durable and go to no other destination. Nothing is lost, but they wait until a relay connects.',
    steps: [
      {
        text: 'Which destination, how many, and which destinations have relays?',
        commands: () => ['onceward status'],
        queries: ({ series, consumer }) => [
          onceOf(series('outboxUnserved', { broker: brokersOf(consumer) }), ['broker', 'destination']),
        ],
      },
      {
        text: 'The consumer that writes them, or its relay, is down: start it again. Without a consumer, start a relay with the address of that cluster and virtual host (`ONCEWARD_RABBITMQ_URL`, `ONCEWARD_KAFKA_BOOTSTRAP`).',
        commands: ({ consumer }) => brokersOf(consumer).map(broker => `onceward relay --broker ${broker}`),
      },
      {
        text: 'The cluster was renamed or replaced, or the name in the contract is not the one it announces: start a relay under the name in the rows, with `ONCEWARD_RABBITMQ_CLUSTER` or `ONCEWARD_KAFKA_CLUSTER`. In a RabbitMQ destination, the cluster is before the slash and the virtual host behind it.',
      },
      {
        text: 'The destination is only the name of a broker (`rabbitmq`, `kafka`): a writer without an address wrote it before any relay had connected, and there are several now. Or it no longer exists, or was never right. Retire it to the right destination, and have writers name their `destination` while there are several.',
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
    title: 'Calls failed permanently, or have an unknown outcome.',
    means:
      'A call was sent and its answer is missing, or attempts are used up. The dispatcher did what the target’s policy allows. The rest waits for a person, because only the target knows the outcome.',
    steps: [
      {
        text: 'List the calls.',
        commands: ({ name }) => [
          `onceward ledger list --consumer ${name}`,
          `onceward ledger list --consumer ${name} --state unknown`,
          'onceward ledger show ID',
        ],
      },
      {
        text: 'Ask the target, by the effect key and the time: did it happen? Never guess. See what caused the call, and every attempt:',
        commands: ({ file }) => [`onceward explain --effect KEY --contract ${file}`],
      },
      {
        text: 'Record the result. `not-done` turns the call into a failed one, which may be retried under the same key.',
        commands: ({ name }) => [
          `onceward ledger reconcile ID --as completed --consumer ${name} --because REASON`,
          `onceward ledger reconcile ID --as not-done --consumer ${name} --because REASON`,
          `onceward ledger retry ID --consumer ${name} --because REASON`,
        ],
      },
      {
        text: 'If it continues, check the target: errors, timeouts, its breaker, how long it keeps idempotency keys.',
        queries: ({ series }) => [increased(series('calls'), '1h', ['target', 'result'])],
      },
    ],
    over: 'no call has failed or has an unknown outcome.',
  },
  {
    name: 'effects-delayed',
    title: 'Calls that are due are not made in time.',
    means:
      'The intents are durable. The dispatcher does not run or is throttled, or its target rejects calls.',
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
        text: 'Does a dispatcher run? It is part of `onceward run`. To run it alone:',
        commands: ({ file }) => [`onceward run ${file} --part dispatcher`],
      },
      {
        text: 'Is the target’s own limit the reason (`concurrencyMax`, `ratePerSecondMax`)? Agree on a higher one with its owner before you raise it.',
      },
    ],
    over: 'the oldest is younger than `objectives.lagMax`.',
  },
]
