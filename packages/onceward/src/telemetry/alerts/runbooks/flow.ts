import { keepsWork } from '../alert.ts'
import { increased, onceOf } from '../promql.ts'
import type { Runbook, RunbookStep } from '../step.ts'
import {
  causes,
  crashLoop,
  deployments,
  giveUp,
  partitions,
  slowDatabase,
  status,
  tryAgain,
} from './steps.ts'

const moreProcesses: RunbookStep = {
  text: 'If everything is healthy and only the load is higher, run more processes (on a log, up to its partitions), or raise `batch.sizeMax`. Both are safe at any time.',
}
const moreWorkers: RunbookStep = {
  text: 'Run more workers: raise `inbox.workers`, or start worker processes.',
  commands: ({ file }) => [`onceward run ${file} --part worker`],
}
const outage: RunbookStep = {
  text: 'Is a dependency unavailable? Failures then have one class, and the source is paused.',
  queries: ({ series }) => [
    onceOf(series('paused'), ['consumer']),
    increased(series('failures'), '15m', ['class']),
  ],
}
const blocked: RunbookStep = {
  text: 'Does one message block its lane? A message that is retried again and again is counted here. On a log, its partition does not move.',
  queries: ({ series }) => [
    increased(series('retries'), '15m', ['class']),
    `min by (partition) (${series('checkpointAge')})`,
  ],
}

export const flowRunbooks: readonly Runbook[] = [
  {
    name: 'down',
    title: 'The consumer does not take messages.',
    means:
      'No process runs or is scraped; or a process cannot reach its broker and keeps trying (its log says `source disconnected`); or a process has halted: it found something it must not continue past, acknowledged nothing, and logged the reason. Nothing is lost; messages wait at the source.',
    steps: [
      status,
      {
        text: 'Read the last error line of the log. Its code leads on: `records_lost` to runbook `loss`; `server_changed` (a failover, a restore) and `wrong_server` (a standby, an old primary) to `restore-from-backup`; `wrong_environment` and `consumer_renamed` to `wrong-environment`; `retention_too_short` to `horizon-too-short`; `contract_invalid` names the field; `schema_missing` and `schema_too_old` to the next step.',
        commands: ({ file }) => [
          `onceward runbook ${file} loss`,
          `onceward runbook ${file} restore-from-backup`,
          `onceward runbook ${file} wrong-environment`,
        ],
      },
      { text: 'Is the schema as new as the code?', commands: () => ['onceward migrate'] },
      crashLoop,
      {
        text: 'Restart it once the cause is fixed. It continues where it stopped.',
        commands: ({ file }) => [`onceward run ${file}`],
      },
    ],
    over: 'every process reports 1.',
  },
  {
    name: 'paused',
    title: 'The source is paused because a dependency is unavailable.',
    means:
      'Several messages failed as they do when a dependency does not answer. The consumer waits, tries one message now and then, and uses up no attempts meanwhile. Nothing is lost; lag grows.',
    steps: [
      status,
      {
        text: 'Which failures were they?',
        queries: ({ series }) => [increased(series('failures'), '1h', ['class'])],
      },
      {
        text: 'Bring the dependency back, or notify its owner. The consumer continues automatically within `failure.breaker.pauseMaxMs`.',
      },
      {
        text: 'If the dependency is healthy, the errors have the wrong class: set the right one in `failure.classes`.',
      },
    ],
    over: 'it is not paused and lag falls.',
  },
  {
    name: 'braked',
    title: 'An event type is paused because most of its messages fail.',
    means:
      'Many messages of one event type, under several keys, failed in the handler for one new cause, as after a bad deployment. Nothing of the type is set aside and no attempt is counted. Other types continue. One message is tried now and then.',
    steps: [
      {
        text: 'Which type, which cause, under which version?',
        commands: () => ['onceward brakes'],
      },
      {
        text: 'Was this version just deployed, or was a table changed? Roll back, deploy the fixed handler, or fix the table. The type continues automatically once a message is applied, within `failure.brake.pauseMaxMs`.',
      },
      {
        text: 'If the messages themselves are wrong, let them fail: their attempts count again, and they are set aside. A transform keeps no record of the pause: restart it.',
        commands: ({ name }) => [`onceward brakes release TYPE --consumer ${name} --because REASON`],
      },
    ],
    over: '`onceward brakes` lists nothing, and lag falls.',
  },
  {
    name: 'redelivered-too-often',
    title: 'A message is delivered again and again without an outcome.',
    means:
      'The broker counted as many deliveries of a message as `failure.redelivery.countMax` allows. Processes die, lose their connection or are stopped while they have it. As the contract says, it is now tried alone, waits longer each time, or is set aside. The count never decides whether it was applied.',
    steps: [
      {
        text: 'Do processes restart, or lose their connection? That explains many messages at once.',
        queries: ({ series }) => [increased(series('sourceEvents'), '1h', ['kind'])],
      },
      {
        text: 'If it is one message, it may crash its process: look for it among those that were set aside.',
        commands: ({ name }) => [`onceward parked list --consumer ${name}`],
      },
    ],
    over: 'no such delivery was counted for an hour.',
  },
  {
    name: 'stalled',
    title: 'No messages arrive although some wait.',
    means:
      'The process runs and has room, and its broker delivers nothing. A broker node is frozen or overloaded, a partition has no leader, the group has not admitted the process, or the subscription is dead. Nothing is lost; messages wait at the source.',
    steps: [
      status,
      {
        text: 'Which part is silent? `/readyz` and the log of the process name it. Check that broker: is it alive, does it answer other clients, is its disk full?',
        queries: ({ series }) => [
          onceOf(series('stalled'), ['consumer']),
          increased(series('sourceEvents'), '1h', ['kind']),
        ],
      },
      partitions,
      {
        text: 'Stop a broker node that hangs: another node takes over its work. If every broker is healthy, restart the process. It continues where it stopped.',
      },
    ],
    over: 'messages arrive, and the metric is 0.',
  },
  {
    name: 'lag-rising',
    title: 'Messages wait at the broker, and their number grows.',
    means:
      'The consumer processes less than arrives. Nothing is lost as long as the source keeps it: compare the lag with its retention.',
    steps: [
      status,
      outage,
      slowDatabase,
      partitions,
      blocked,
      {
        text: 'Was there a burst? Compare the arrival rate with an hour and a day ago.',
        queries: ({ series }) => {
          const live = series('deliveries', { mode: 'live' })
          return [
            `sum(rate(${live}[10m]))`,
            `sum(rate(${live}[10m] offset 1h))`,
            `sum(rate(${live}[10m] offset 1d))`,
          ]
        },
      },
      {
        text: 'Does a campaign compete with live messages? Pause it.',
        commands: ({ name }) => [
          `onceward replay list --consumer ${name} --open`,
          'onceward replay pause ID --because REASON',
        ],
      },
      moreProcesses,
    ],
    over: 'the lag falls and is below `objectives.lagRecordsMax`.',
  },
  {
    name: 'reading-too-slow',
    title: 'The consumer reads the broker too slowly; workers have little to do.',
    means: 'Storing is the bottleneck: the broker, the connection, or the inserts into the store.',
    steps: [status, slowDatabase, partitions, deployments, moreProcesses],
    over: 'the lag falls.',
  },
  {
    name: 'processing-too-slow',
    title: 'Messages are stored in time and processed too slowly.',
    means: 'The consumer reads and acknowledges in time; the work waits in the database.',
    steps: [
      status,
      {
        text: 'What is held, and what happens to it next: due, leased, stuck, later?',
        commands: ({ name }) => [`onceward work list --consumer ${name} --state stored`],
      },
      outage,
      slowDatabase,
      moreWorkers,
    ],
    over: 'held work is below `objectives.lagRecordsMax`.',
  },
  {
    name: 'oldest-pending',
    title: 'The oldest message that is not applied is older than the objective.',
    means: 'At least one message is late. Either all messages are late, or one message is blocked.',
    steps: [
      status,
      {
        text: 'Is it one message, or all? The oldest come first.',
        commands: ({ name }) => [`onceward work list --consumer ${name}`, 'onceward work show ID'],
        applies: keepsWork,
      },
      blocked,
      outage,
      {
        text: 'To make a message due now that waits for a delay, or for a worker that stopped responding, release it.',
        commands: ({ name }) => [`onceward work release ID --consumer ${name} --because REASON`],
        applies: keepsWork,
      },
      moreProcesses,
    ],
    over: 'the oldest is younger than `objectives.lagMax`.',
  },
  {
    name: 'apply-slow',
    title: 'Handlers are slow.',
    means:
      'A dependency or the database is slow, or batches became larger. After `batch.handlerTimeoutMs` the consumer aborts a handler and rolls its transaction back.',
    steps: [
      slowDatabase,
      {
        text: 'Does the handler make external calls? Recorded external effects are called after the commit and do not hold the transaction.',
        queries: ({ series }) => [
          `histogram_quantile(0.99, sum by (target, le) (rate(${series('callDuration', {}, '_bucket')}[10m])))`,
        ],
        applies: ({ effect }) => Object.keys(effect?.external ?? {}).length > 0,
      },
      {
        text: 'Check the database: locks, missing indexes, bloat and autovacuum of the tables that the handler writes (`pg_stat_activity`, `pg_stat_statements`).',
      },
      { text: 'Make batches smaller (`batch.sizeMax`) if a batch, not a message, takes long.' },
    ],
    over: 'p99 is below `objectives.applyP99Max`.',
  },
  {
    name: 'source-idle',
    title: 'No messages arrive.',
    means:
      'The consumer runs and receives nothing. The producer has stopped, messages are routed elsewhere, or the subscription is dead.',
    steps: [
      status,
      {
        text: 'Is it connected, and does something wait? Lag above zero without deliveries means a dead subscription: restart the process.',
        queries: ({ series }) => [
          onceOf(series('lag'), ['consumer']),
          increased(series('sourceEvents'), '1d', ['kind']),
        ],
      },
      {
        text: 'Ask the producer whether it sends. Check bindings, routing keys, topic names and permissions at the broker.',
      },
      {
        text: 'Does another consumer read the same queue or group, perhaps in another environment? See runbook `wrong-environment`.',
        commands: ({ file }) => [`onceward runbook ${file} wrong-environment`],
      },
      { text: 'If silence is normal at this time, set `objectives.idleMax` to how long it may last.' },
    ],
    over: 'messages arrive.',
  },
  {
    name: 'partition-idle',
    title: 'A partition does not move, although others do or it used to.',
    means:
      'The partition has no new records, or no process reads it. A producer that stopped, or whose keys changed, shows here first.',
    steps: [
      status,
      partitions,
      {
        text: 'Lag zero: no producer writes to it. Ask the producer about its keys and its partitioner. Lag above zero: see runbook `partition-stuck`.',
        commands: ({ file }) => [`onceward runbook ${file} partition-stuck`],
      },
    ],
    over: 'its position moves, or the silence is expected and declared in `objectives.idleMax`.',
  },
  {
    name: 'partitions-waiting',
    title: 'Partitions that were added to the topic are not read yet.',
    means:
      'With order by key, records of one key may be in an old partition and, after partitions were added, in a new one. The consumer reads a new partition once it has drained every earlier partition to where it ended when the new one was found. Nothing is lost. The new partitions wait at most for `addedPartitionsWaitMs` of the source.',
    steps: [
      status,
      {
        text: 'Which partitions are behind? They block the new ones.',
        queries: ({ series }) => [onceOf(series('lag'), ['consumer', 'partition'])],
      },
      partitions,
      blocked,
      moreProcesses,
      {
        text: 'If the order of keys across the change does not matter, lower `addedPartitionsWaitMs` of the source and restart. After that time the consumer reads the new partitions, and the log names the keys that may have been reordered.',
      },
    ],
    over: 'the metric is 0.',
  },
  {
    name: 'partition-stuck',
    title: 'A partition has records and does not move.',
    means:
      'Its first unfinished record blocks it: it is retried again and again, its handler hangs, or no process owns the partition.',
    steps: [
      status,
      blocked,
      {
        text: 'With `failure.exhausted: stop`, or order by partition, a failing message blocks all behind it until it succeeds. Fix its cause, or let it be set aside.',
      },
      causes,
      crashLoop,
      {
        text: 'If no process owns it, check that the expected number of processes runs, and restart one: the group assigns partitions again.',
      },
      giveUp,
      tryAgain,
    ],
    over: 'its position moves.',
  },
]
