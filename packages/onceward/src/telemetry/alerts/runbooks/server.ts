import type { Consumer } from '../../../contract/define-consumer.ts'
import type { Runbook, RunbookStep } from '../step.ts'
import { ledgerClean } from './steps.ts'

/** Backfill where the contract allows it, else replay: the store never saw these records. */
const fromFile = ({ replay }: Consumer) => (replay.modes.includes('backfill') ? 'backfill' : 'replay')

const stopAll: RunbookStep = {
  text: 'Stop every process of this database that still runs. SIGTERM lets them finish their batches.',
}
const againFromLog: RunbookStep = {
  text: 'If the source still has the records and something is missing, read them again as a campaign from before the cut. Known messages are skipped, missing ones are applied. External effects stay suppressed unless two people approve them.',
  commands: ({ name, file }) => [
    `onceward replay create ${file} --mode replay --from TIME --because REASON`,
    `onceward replay preview ${file} ID`,
    `onceward replay approve ID --consumer ${name} --plan DIGEST --because REASON`,
    `onceward replay run ${file} ID`,
    'onceward replay verify ID',
  ],
}

export const serverRunbooks: readonly Runbook[] = [
  {
    name: 'loss',
    title: 'Records were removed from the log before they were read.',
    means:
      'Retention or deletion passed the consumer’s position. The consumer halts before the loss, so that the missing records are not hidden.',
    steps: [
      { text: 'List the missing ranges.', commands: () => ['onceward losses'] },
      {
        text: 'Was the log only unavailable or recovering? Restart the consumer once it is back. A loss whose records are there again is withdrawn automatically.',
        commands: ({ file }) => [`onceward run ${file}`],
      },
      {
        text: 'Is there another copy: an archive, another cluster, the producer? Apply it as a campaign from a file.',
        commands: ({ file, consumer }) => [
          `onceward replay create ${file} --mode ${fromFile(consumer)} --file RECORDS --never-live --because REASON`,
        ],
      },
      {
        text: 'When the business accepts the loss, accept it. At its next start the consumer continues behind the loss.',
        commands: ({ name, file }) => [
          `onceward losses accept ID --expect DIGEST --consumer ${name} --because REASON`,
          `onceward run ${file}`,
        ],
      },
      { text: 'Keep the log longer than the longest time in which no consumer reads it.' },
    ],
    over: 'no loss is open.',
  },
  {
    name: 'restore-from-backup',
    title: 'The database was restored, or failed over to a server that lacked the last commits.',
    means:
      'Markers and effects of the last interval are gone together, so the database is consistent. The broker may have received their acknowledgements: it does not redeliver those messages. Calls and messages that left the database did happen.',
    noAlert:
      'a process that detects another incarnation of its server halts, so `OncewardDown` fires, and its runbook leads here.',
    steps: [
      stopAll,
      {
        text: 'What may be lost, by consumer and since when, and from where is it read again? The command changes nothing except that it registers this copy.',
        commands: () => ['onceward restore'],
      },
      {
        text: 'Check that the audit chain is complete, against a head you recorded elsewhere, and that the schema is as new as the code.',
        commands: () => ['onceward audit verify --expect HASH', 'onceward migrate'],
      },
      {
        ...ledgerClean,
        text: 'This copy does not know calls made after the cut, and the dispatcher makes them again under the same key. For targets without idempotency keys, ask what they received since then before you accept.',
      },
      {
        text: 'Accept this copy. Consumers then read logs again from the positions it has, and recognise the messages it knows.',
        commands: () => [
          'onceward restore accept NUMBER --because REASON --dry-run',
          'onceward restore accept NUMBER --because REASON',
        ],
      },
      {
        text: 'A queue no longer has acknowledged messages. Have the producer send that interval again with the same ids, or apply it from a file. Known messages are skipped.',
        commands: ({ file, consumer }) => [
          `onceward replay create ${file} --mode ${fromFile(consumer)} --file RECORDS --never-live --because REASON`,
        ],
        applies: ({ source }) => source.kind === 'rabbitmq' || source.kind === 'postgres',
      },
      {
        text: 'Compare markers and effects. They agree after a restore of the whole database, and disagree after a restore of some tables.',
        commands: ({ file }) => [`onceward audit reconcile ${file}`],
      },
      { text: 'Start the consumers.', commands: ({ file }) => [`onceward run ${file}`] },
      againFromLog,
    ],
    over: '`onceward restore` shows nothing to accept, the consumer runs, and the missing effects are there.',
  },
  {
    name: 'wrong-environment',
    title: 'A process connected to the database or the broker of another environment.',
    means:
      'It refused to start and changed nothing. Otherwise it would have taken messages of the other environment and marked them as done in the wrong database.',
    noAlert: 'a process that finds this does not start, so `OncewardDown` fires, and its runbook leads here.',
    steps: [
      {
        text: 'Which environment is the process configured for, and which database does it reach? It compares `ONCEWARD_ENVIRONMENT` with the name that the database got when it was migrated.',
        commands: () => ['onceward status'],
      },
      {
        text: 'Which brokers feed this database? Another cluster counts as another environment unless a person accepts it.',
        commands: () => ['onceward brokers'],
      },
      {
        text: 'Correct the addresses (`ONCEWARD_DATABASE_URL`, `ONCEWARD_RABBITMQ_URL`, `ONCEWARD_KAFKA_BOOTSTRAP`) or the name. Never change the name in the database to make a process start.',
      },
      {
        text: 'Did a process of the other environment read here before? Look for unknown runs, and for applied messages without an effect.',
        commands: ({ name }) => ['onceward consumers list', `onceward audit list --consumer ${name}`],
      },
      {
        text: 'If the cluster belongs to this environment (a migration, a second cluster), accept it. If the consumer was renamed, rename it in the database.',
        commands: ({ name, consumer }) => [
          ...acceptance(consumer),
          `onceward consumers rename OLDNAME ${name} --because REASON`,
        ],
      },
      {
        text: 'Compare contract, broker and database again before it starts.',
        commands: ({ file }) => [`onceward check ${file} --live`],
      },
    ],
    over: 'the process runs against its own database and broker.',
  },
]

/** Queues of the database and files have no cluster. */
function acceptance({ source: { kind } }: Pick<Consumer, 'source'>): string[] {
  const broker = kind.startsWith('rabbitmq') ? 'rabbitmq' : kind
  return broker === 'rabbitmq' || broker === 'kafka'
    ? [`onceward brokers accept ${broker} CLUSTER --because REASON`]
    : []
}
