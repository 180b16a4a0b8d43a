import { grown, increased, onceOf } from '../promql.ts'
import type { Runbook } from '../step.ts'
import {
  causes,
  crashLoop,
  deployments,
  giveUp,
  ledgerClean,
  slowDatabase,
  slowSettling,
  story,
  tryAgain,
} from './steps.ts'

export const repeatRunbooks: readonly Runbook[] = [
  {
    name: 'duplicate-spike',
    title: 'Many deliveries are repeats.',
    means:
      'Repeats are recognised and skipped, so nothing is wrong yet: a duplicate spike is not always an incident, a duplicate side-effect spike is. It says that somebody hands things over again, and costs time.',
    steps: [
      deployments,
      crashLoop,
      {
        text: 'Does the connection to the broker come and go? Every loss hands back what is unsettled.',
        queries: ({ series }) => [
          increased(
            series('sourceEvents', { kind: ['disconnected', 'cancelled', 'timed_out', 'revoked'] }),
            '1h',
            ['kind'],
          ),
        ],
      },
      {
        ...slowSettling,
        text: `${slowSettling.text} A broker with an acknowledgement timeout takes back what is held longer (RabbitMQ: \`consumer_timeout\`, 30 minutes by default).`,
      },
      slowDatabase,
      {
        text: 'Is somebody replaying? Retry queues, replays of parked messages and campaigns bring messages back on purpose; campaigns are counted in their own mode.',
        commands: ({ name }) => [
          `onceward replay list --consumer ${name} --open`,
          `onceward audit list --consumer ${name}`,
        ],
        queries: ({ series }) => [increased(series('retries'), '1h', ['class'])],
      },
      {
        text: 'Ask the producer: does it publish again when a confirm is late, or under a new id? Compare its send rate with what is delivered; markers that grow as fast as deliveries mean new ids, repeats mean the same ones.',
        queries: ({ series }) => [
          `sum(rate(${series('deliveries')}[10m]))`,
          `sum(rate(${series('redelivered')}[10m]))`,
          `sum(rate(${series('inserts')}[10m]))`,
        ],
      },
      {
        text: 'Has a queue or partition changed its leader? See the broker itself; here it shows as disconnected, cancelled, assigned or revoked, or as acknowledgements that were missed.',
        queries: ({ series }) => [
          increased(series('sourceEvents'), '1h', ['kind']),
          increased(series('positionCommits', { status: 'failure' }), '1h'),
        ],
      },
      {
        text: 'Verify that no repeat carried other content. It must be zero; if it is not, go to `conflict` at once.',
        commands: ({ file }) => [`onceward runbook ${file} conflict`],
        queries: ({ series }) => [grown(series('conflicts'), '1h')],
      },
      {
        ...ledgerClean,
        text: `Verify that no side effect happened twice. ${ledgerClean.text}`,
        applies: () => true,
        commands: ({ name, file }) => [
          `onceward ledger list --consumer ${name}`,
          'onceward ledger show ID',
          `onceward audit reconcile ${file}`,
        ],
        queries: ({ series }) => [
          increased(series('suppressed', { reason: 'duplicate' }), '1h'),
          onceOf(series('ledger'), ['target', 'state']),
        ],
      },
    ],
    over: 'the share of repeats is back below the objective. If it is where it should be from now on, say so in `objectives.duplicateShareMax`.',
  },
  {
    name: 'conflict',
    title: 'A known identity came with other content.',
    means:
      'Two different messages claim to be the same one. The first was applied; the second was set aside with its bytes and not applied. Either the producer reuses ids or keys, or it changes a message while sending it again, or `identity` names the wrong field. This is an incident of correctness: one of the two is missing.',
    steps: [
      causes,
      {
        text: 'Compare both: the stored bytes of the second, and what the first led to.',
        commands: ({ name }) => [
          'onceward parked show ID --body-to second.bin',
          `onceward parked list --consumer ${name} --message MESSAGE`,
        ],
      },
      story,
      {
        text: 'Tell the producer, with ids and times. Ask which of the two is true, and stop it from reusing identities.',
      },
      {
        text: 'If the second is a message of its own, it must be sent again under a new id. If it is a correction, its business decides; if it is an accident, give it up.',
      },
      giveUp,
    ],
    over: 'no conflict was counted for an hour and nothing of that cause waits.',
  },
  {
    name: 'horizon-too-short',
    title: 'A message is older than the memory that would recognise it.',
    means:
      'Its marker, if there was one, may be removed: nobody can say whether it was applied. With `retention.behindHorizon: park` it waits for a person; with `apply` it was applied, perhaps for the second time.',
    steps: [
      {
        text: 'How far back does memory reach, and how long may it be asked for?',
        commands: ({ file }) => ['onceward retention status', `onceward retention plan ${file}`],
        queries: ({ series }) => [series('horizonAge'), series('keep', { kind: 'markers' })],
      },
      {
        text: 'Where does so old a message come from: a queue nobody read for long, a campaign of the producer, a topic whose retention was raised, a dead-letter queue that was put back? Stop that first.',
        commands: () => ['onceward parked show ID'],
      },
      {
        text: 'For each parked one: look whether its effect is there. If it is, give it up; if it is not, let it run.',
        commands: ({ file }) => [`onceward explain --message MESSAGE --contract ${file}`],
      },
      giveUp,
      tryAgain,
      {
        text: 'Raise `retention.markers` above the longest time after which this source can repeat itself, or say it in `retention.sourceKeeps`; a start with too short a term is refused.',
      },
    ],
    over: 'no message was behind the horizon for an hour and retention is longer than the source’s memory.',
  },
]
