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
  text: 'If everything is healthy and only the load is higher, run more processes (on a log, up to its partitions), or raise `batch.sizeMax`; both are safe at any time.',
}
const moreWorkers: RunbookStep = {
  text: 'Run more workers: `inbox.workers`, or processes that only work.',
  commands: ({ file }) => [`onceward run ${file} --part worker`],
}
const outage: RunbookStep = {
  text: 'Is a dependency away? Failures then come in one class, and the source is paused.',
  queries: ({ series }) => [
    onceOf(series('paused'), ['consumer']),
    increased(series('failures'), '15m', ['class']),
  ],
}
const blocked: RunbookStep = {
  text: 'Does one message hold its lane? A message that is tried again and again is counted here; on a log its partition does not move.',
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
      'Either no process runs or is scraped, or one does not reach its broker and tries again by itself (its log says `source disconnected`), or one has halted: it found something it must not go on past, settled nothing, and says so in its log. Nothing is lost; messages wait at the source.',
    steps: [
      status,
      {
        text: 'Read the last error line of the log. Its code says where to go: `records_lost` to runbook `loss`; `server_changed` (a failover, a restore) and `wrong_server` (a standby, an old primary) to `restore-from-backup`; `wrong_environment` and `consumer_renamed` to `wrong-environment`; `retention_too_short` to `horizon-too-short`; `contract_invalid` names the field; `schema_missing`, `schema_too_old` need the next step.',
        commands: ({ file }) => [
          `onceward runbook ${file} loss`,
          `onceward runbook ${file} restore-from-backup`,
          `onceward runbook ${file} wrong-environment`,
        ],
      },
      { text: 'Is the schema as new as the code?', commands: () => ['onceward migrate'] },
      crashLoop,
      {
        text: 'Start it again once the cause is gone. It goes on where it stopped.',
        commands: ({ file }) => [`onceward run ${file}`],
      },
    ],
    over: 'every process reports 1.',
  },
  {
    name: 'paused',
    title: 'The source is paused because something downstream is away.',
    means:
      'Several messages failed as they do when a dependency does not answer. The consumer waits, tries one message now and then, and burns no attempts meanwhile. Nothing is lost; lag grows.',
    steps: [
      status,
      {
        text: 'Which failures were they?',
        queries: ({ series }) => [increased(series('failures'), '1h', ['class'])],
      },
      {
        text: 'Bring the dependency back, or tell its owner. The consumer goes on by itself within `failure.breaker.pauseMaxMs`.',
      },
      {
        text: 'If the dependency is healthy, the errors are put into the wrong class: say the right one in `failure.classes`.',
      },
    ],
    over: 'it is not paused and lag falls.',
  },
  {
    name: 'stalled',
    title: 'Nothing comes although something waits.',
    means:
      'The process runs and has room, and its broker hands nothing over: a broker node is frozen or overloaded, a partition has no leader, the group has not taken the process in, or the subscription is dead. Nothing is lost; messages wait at the source.',
    steps: [
      status,
      {
        text: 'Which part is silent? `/readyz` and the log of the process name it. Look at that broker: is it alive, does it answer others, is its disk full?',
        queries: ({ series }) => [
          onceOf(series('stalled'), ['consumer']),
          increased(series('sourceEvents'), '1h', ['kind']),
        ],
      },
      partitions,
      {
        text: 'A broker that hangs is best ended: another node takes its work over. If every broker is healthy, restart the process; it goes on where it stopped.',
      },
    ],
    over: 'deliveries come, and the metric is 0.',
  },
  {
    name: 'lag-rising',
    title: 'More messages wait at the broker, and it becomes more.',
    means:
      'The consumer takes less than arrives. Nothing is lost as long as the source keeps it: compare the lag with its retention.',
    steps: [
      status,
      outage,
      slowDatabase,
      partitions,
      blocked,
      {
        text: 'Was there a burst? Compare what arrives with an hour and a day ago.',
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
        text: 'Does a campaign compete with it? Pause it.',
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
    title: 'The broker is read too slowly; workers have little to do.',
    means: 'Storing is the bottleneck: the broker, the connection, or the inserts into the inbox.',
    steps: [status, slowDatabase, partitions, deployments, moreProcesses],
    over: 'the lag falls.',
  },
  {
    name: 'processing-too-slow',
    title: 'Messages are stored in time and worked on too slowly.',
    means: 'The broker is read and told; the work waits in the database.',
    steps: [
      status,
      {
        text: 'What is held, and what becomes of it next: due, claimed, stuck, later?',
        commands: ({ name }) => [`onceward work list --consumer ${name} --state stored`],
      },
      outage,
      slowDatabase,
      moreWorkers,
    ],
    over: 'held work falls below `objectives.lagRecordsMax`.',
  },
  {
    name: 'oldest-pending',
    title: 'The oldest message that is not applied is older than promised.',
    means:
      'Freshness is at risk for at least one message. Either everything is late, or one message is held up.',
    steps: [
      status,
      {
        text: 'Is it one, or all? The oldest first.',
        commands: ({ name }) => [`onceward work list --consumer ${name}`, 'onceward work show ID'],
        applies: keepsWork,
      },
      blocked,
      outage,
      {
        text: 'A message that only waits for a delay or for a worker that fell silent can be made due now.',
        commands: ({ name }) => [`onceward work release ID --consumer ${name} --because REASON`],
        applies: keepsWork,
      },
      moreProcesses,
    ],
    over: 'the oldest is younger than `objectives.lagMax`.',
  },
  {
    name: 'apply-slow',
    title: 'Handlers take long.',
    means:
      'A dependency or the database is slow, or batches became larger. Past `batch.handlerTimeoutMs` a handler is aborted and its transaction rolled back.',
    steps: [
      slowDatabase,
      {
        text: 'Does the time go into calls made inside the handler? External effects that are recorded and called afterwards do not hold the transaction.',
        queries: ({ series }) => [
          `histogram_quantile(0.99, sum by (target, le) (rate(${series('callDuration', {}, '_bucket')}[10m])))`,
        ],
        applies: ({ effect }) => Object.keys(effect?.external ?? {}).length > 0,
      },
      {
        text: 'In the database: locks, missing indexes, bloat and autovacuum of the tables the handler writes (`pg_stat_activity`, `pg_stat_statements`).',
      },
      { text: 'Make batches smaller (`batch.sizeMax`) if a batch, not a message, takes long.' },
    ],
    over: 'p99 is below `objectives.applyP99Max`.',
  },
  {
    name: 'source-idle',
    title: 'Nothing arrives.',
    means:
      'The consumer runs and is handed nothing: the producer has stopped, messages are routed elsewhere, or the subscription is dead.',
    steps: [
      status,
      {
        text: 'Is it connected, and does something wait? Lag above zero with no deliveries is a dead subscription: restart the process.',
        queries: ({ series }) => [
          onceOf(series('lag'), ['consumer']),
          increased(series('sourceEvents'), '1d', ['kind']),
        ],
      },
      {
        text: 'Ask the producer whether it sends; look at bindings, routing keys, topic names and permissions at the broker.',
      },
      {
        text: 'Does another consumer read the same queue or group, in another environment perhaps? See runbook `wrong-environment`.',
        commands: ({ file }) => [`onceward runbook ${file} wrong-environment`],
      },
      { text: 'If silence is normal at this time, say how long it may last in `objectives.idleMax`.' },
    ],
    over: 'deliveries arrive.',
  },
  {
    name: 'partition-idle',
    title: 'A partition does not move, though others do or it used to.',
    means:
      'Nothing new in it, or nobody reads it. A producer whose keys changed, or one that stopped, shows here first.',
    steps: [
      status,
      partitions,
      {
        text: 'Lag zero: nothing is written to it. Ask the producer about its keys and its partitioner. Lag above zero: see runbook `partition-stuck`.',
        commands: ({ file }) => [`onceward runbook ${file} partition-stuck`],
      },
    ],
    over: 'its position moves, or the silence is expected and said in `objectives.idleMax`.',
  },
  {
    name: 'partitions-waiting',
    title: 'Partitions that were added to the topic are not read yet.',
    means:
      'With order by key, records of a key may lie in an old partition and, after partitions were added, in a new one. A new partition is read once every partition before it is drained to where it ended when the new one was found. Nothing is lost; the new partitions wait, at most for `addedPartitionsWaitMs` of the source.',
    steps: [
      status,
      {
        text: 'Which partitions are behind? Those hold the new ones up.',
        queries: ({ series }) => [onceOf(series('lag'), ['consumer', 'partition'])],
      },
      partitions,
      blocked,
      moreProcesses,
      {
        text: 'If the order of keys across the change does not matter, set `addedPartitionsWaitMs` of the source lower and restart: past it the new partitions are read, and the log says which keys may have been reordered.',
      },
    ],
    over: 'the metric is 0.',
  },
  {
    name: 'partition-stuck',
    title: 'A partition has records and does not move.',
    means:
      'Its first unfinished record holds it: it is tried again and again, its handler hangs, or nobody owns the partition.',
    steps: [
      status,
      blocked,
      {
        text: 'With `failure.exhausted: stop`, or order by partition, a message that fails holds all behind it until it gets through. Mend its cause, or let it be set aside.',
      },
      causes,
      crashLoop,
      {
        text: 'If no process owns it, see that as many run as should, and restart one: partitions are shared out again.',
      },
      giveUp,
      tryAgain,
    ],
    over: 'its position moves.',
  },
]
