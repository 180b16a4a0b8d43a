import type { Runbook, Step } from '../step.ts'
import { ledgerClean, status } from './steps.ts'

const stopAll: Step = {
  text: 'Stop every process of this database that still runs: SIGTERM lets them finish what they have.',
}
const againFromLog: Step = {
  text: 'Read again what the database has forgotten and the source still has: a campaign from the time before the cut. What is known is skipped, what is missing is applied, and external effects stay suppressed unless two people ask for them.',
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
        text: 'Is there another copy: an archive, another cluster, the producer? Bring it back as a campaign from a file.',
        commands: ({ file }) => [
          `onceward replay create ${file} --mode backfill --file RECORDS --because REASON`,
        ],
      },
      {
        text: 'When its business accepts the loss, say so; at its next start the consumer goes on behind the gap.',
        commands: ({ name, file }) => [
          `onceward losses accept ID --consumer ${name} --because REASON`,
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
        text: 'Find out the cut: the time of the last transaction that survived. The server’s log and the backup tool say it; so does the newest row here.',
        commands: ({ name }) => ['onceward status', `onceward audit list --consumer ${name} --limit 5`],
      },
      {
        text: 'See that the audit chain is whole, with a head you noted elsewhere.',
        commands: () => ['onceward audit verify'],
      },
      { text: 'Is the schema as new as the code?', commands: () => ['onceward migrate'] },
      againFromLog,
      {
        text: 'On a queue the broker has forgotten what it was told of. Ask the producer to send that stretch again, with the same ids, or give it as a file; what is known is skipped.',
        commands: ({ file }) => [
          `onceward replay create ${file} --mode replay --file RECORDS --because REASON`,
        ],
        applies: ({ source }) => source.kind === 'rabbitmq' || source.kind === 'postgres',
      },
      {
        ...ledgerClean,
        text: 'Calls made after the cut are unknown to this copy and may be made again, under the same key. Before the dispatcher runs, ask targets without keys what they have got since then.',
      },
    ],
    over: 'the campaign is verified and the consumer runs.',
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
        text: 'Correct the addresses (`ONCEWARD_DATABASE_URL`, `ONCEWARD_RABBITMQ_URL`, `ONCEWARD_KAFKA_BOOTSTRAP`) or the name. Never change the name in the database to make a process start.',
      },
      {
        text: 'Has a process of the other environment read here before the check was there? Look for runs nobody knows, and for applied messages without effect.',
        commands: ({ name }) => ['onceward status', `onceward audit list --consumer ${name}`],
      },
      status,
    ],
    over: 'the process runs against what belongs to it.',
  },
]
