import type { Consumer } from '../../../contract/define-consumer.ts'
import type { Runbook, RunbookStep } from '../step.ts'
import { ledgerClean } from './steps.ts'

/** Records this store never saw, if the contract lets them in as such; else as what may be missing. */
const fromFile = ({ replay }: Consumer) => (replay.modes.includes('backfill') ? 'backfill' : 'replay')

const stopAll: RunbookStep = {
  text: 'Stop every process of this database that still runs: SIGTERM lets them finish what they have.',
}
const againFromLog: RunbookStep = {
  text: 'If the source kept the position and something is still missing, read it again as a campaign from before the cut. What is known is skipped, what is missing is applied, and external effects stay suppressed unless two people ask for them.',
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
      'Retention or deletion passed the consumer’s position. It halts before the gap, because going on would hide that something is missing.',
    steps: [
      { text: 'What is missing, from where to where?', commands: () => ['onceward losses'] },
      {
        text: 'Was the log only away or recovering? Start the consumer again once it is back: a loss whose records are there is withdrawn by itself.',
        commands: ({ file }) => [`onceward run ${file}`],
      },
      {
        text: 'Is there another copy: an archive, another cluster, the producer? Bring it back as a campaign from a file.',
        commands: ({ file, consumer }) => [
          `onceward replay create ${file} --mode ${fromFile(consumer)} --file RECORDS --never-live --because REASON`,
        ],
      },
      {
        text: 'When its business accepts the loss, say so; at its next start the consumer goes on behind the gap.',
        commands: ({ name, file }) => [
          `onceward losses accept ID --expect DIGEST --consumer ${name} --because REASON`,
          `onceward run ${file}`,
        ],
      },
      { text: 'Keep the log longer than the longest time nobody reads it.' },
    ],
    over: 'no loss is open.',
  },
  {
    name: 'restore-from-backup',
    title: 'The database was restored, or failed over to a server that lacked the last commits.',
    means:
      'Markers and effects of the last stretch are gone together, so the database agrees with itself. The broker may have been told of them already: it will not hand them over again by itself. Calls and messages that left the database did happen.',
    noAlert:
      'a process that meets another life of its server does not go on, so `OncewardDown` fires, and its runbook leads here.',
    steps: [
      stopAll,
      {
        text: 'What may be lost, by consumer, since when, and from where is it read again? This changes nothing but to note that this copy was met.',
        commands: () => ['onceward restore'],
      },
      {
        text: 'See that the audit chain is whole, with a head you noted elsewhere, and that the schema is as new as the code.',
        commands: () => ['onceward audit verify --expect HASH', 'onceward migrate'],
      },
      {
        ...ledgerClean,
        text: 'Calls made after the cut are unknown to this copy and are made again, under the same key. Ask targets that know no keys what they have got since then, before you accept.',
      },
      {
        text: 'Accept this copy: logs are then read again from what it knows, and what it has is recognised.',
        commands: () => [
          'onceward restore accept NUMBER --because REASON --dry-run',
          'onceward restore accept NUMBER --because REASON',
        ],
      },
      {
        text: 'A queue has forgotten what it was told of. Have the producer send that time again, with the same ids, or give it as a file; what is known is skipped.',
        commands: ({ file, consumer }) => [
          `onceward replay create ${file} --mode ${fromFile(consumer)} --file RECORDS --never-live --because REASON`,
        ],
        applies: ({ source }) => source.kind === 'rabbitmq' || source.kind === 'postgres',
      },
      {
        text: 'Compare markers and effects: after a restore of the whole they agree; after a restore of some tables they do not.',
        commands: ({ file }) => [`onceward audit reconcile ${file}`],
      },
      { text: 'Start the consumers.', commands: ({ file }) => [`onceward run ${file}`] },
      againFromLog,
    ],
    over: '`onceward restore` says that nothing waits, the consumer runs, and what was missing is there.',
  },
  {
    name: 'wrong-environment',
    title: 'A process met the database or the broker of another environment.',
    means:
      'It refused to start and changed nothing. Had it gone on, it would have taken messages from those they belong to, and marked them as done where nobody looks.',
    noAlert: 'a process that finds this does not start, so `OncewardDown` fires, and its runbook leads here.',
    steps: [
      {
        text: 'Which environment does the process believe in, and which database does it reach? `ONCEWARD_ENVIRONMENT` is compared with the name the database was given when it was migrated.',
        commands: () => ['onceward status'],
      },
      {
        text: 'Which brokers feed this database? Another cluster is another environment, unless a person says otherwise.',
        commands: () => ['onceward brokers'],
      },
      {
        text: 'Correct the addresses (`ONCEWARD_DATABASE_URL`, `ONCEWARD_RABBITMQ_URL`, `ONCEWARD_KAFKA_BOOTSTRAP`) or the name. Never change the name in the database to make a process start.',
      },
      {
        text: 'Has a process of the other environment read here before the check was there? Look for runs nobody knows, and for applied messages without effect.',
        commands: ({ name }) => ['onceward consumers list', `onceward audit list --consumer ${name}`],
      },
      {
        text: 'If the cluster does belong to this environment (a migration, a second cluster), say so; if the consumer was renamed, give its memory to the new name.',
        commands: ({ name, consumer }) => [
          ...acceptance(consumer),
          `onceward consumers rename OLDNAME ${name} --because REASON`,
        ],
      },
      {
        text: 'Compare contract, broker and database once more before it starts.',
        commands: ({ file }) => [`onceward check ${file} --live`],
      },
    ],
    over: 'the process runs against what belongs to it.',
  },
]

/** Queues of the database and files have no cluster. */
function acceptance({ source: { kind } }: Pick<Consumer, 'source'>): string[] {
  const broker = kind.startsWith('rabbitmq') ? 'rabbitmq' : kind
  return broker === 'rabbitmq' || broker === 'kafka'
    ? [`onceward brokers accept ${broker} CLUSTER --because REASON`]
    : []
}
