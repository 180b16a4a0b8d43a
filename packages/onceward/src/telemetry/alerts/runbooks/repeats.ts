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
    title: 'Many deliveries are duplicates.',
    means:
      'The consumer recognises and skips duplicates, so no effect is wrong: a duplicate spike is not always an incident, a duplicate side-effect spike is. A broker or a producer sends messages again, which costs time.',
    steps: [
      deployments,
      crashLoop,
      {
        text: 'Does the connection to the broker come and go? After every disconnect the broker redelivers what was not acknowledged.',
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
        text: `${slowSettling.text} A broker with an acknowledgement timeout redelivers what is unacknowledged for longer (RabbitMQ: \`consumer_timeout\`, 30 minutes by default).`,
      },
      slowDatabase,
      {
        text: 'Does an operator or a job send messages again? Retry queues, redrives of parked messages and campaigns do so on purpose. Campaigns are counted in their own mode.',
        commands: ({ name }) => [
          `onceward replay list --consumer ${name} --open`,
          `onceward audit list --consumer ${name}`,
        ],
        queries: ({ series }) => [increased(series('retries'), '1h', ['class'])],
      },
      {
        text: 'Ask the producer: does it publish again when a confirm is late, or under a new id? Compare its send rate with the deliveries. Markers that grow as fast as deliveries mean new ids; duplicates mean the same ids.',
        queries: ({ series }) => [
          `sum(rate(${series('deliveries')}[10m]))`,
          `sum(rate(${series('redelivered')}[10m]))`,
          `sum(rate(${series('inserts')}[10m]))`,
        ],
      },
      {
        text: 'Has a queue or partition changed its leader? Check the broker. Here it shows as disconnected, cancelled, assigned or revoked, or as failed acknowledgements.',
        queries: ({ series }) => [
          increased(series('sourceEvents'), '1h', ['kind']),
          increased(series('positionCommits', { status: 'failure' }), '1h'),
        ],
      },
      {
        text: 'Verify that no duplicate had other content. The count must be zero. If it is not, go to `conflict` at once.',
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
    over: 'the share of duplicates is below the objective. If the new share is normal from now on, set `objectives.duplicateShareMax` to it.',
  },
  {
    name: 'conflict',
    title: 'A message has a known id and different content.',
    means:
      'Two different messages have the same identity. The first was applied. The second was set aside with its bytes and not applied. The producer reuses ids or keys, or changes a message when it sends it again, or `identity` names the wrong field. This is a correctness incident: one of the two is missing.',
    steps: [
      causes,
      {
        text: 'Compare both: the stored bytes of the second, and the effects of the first.',
        commands: ({ name }) => [
          'onceward parked show ID --body-to second.bin',
          `onceward parked list --consumer ${name} --message MESSAGE`,
        ],
      },
      story,
      {
        text: 'Report ids and times to the producer. Ask which of the two is right, and have it stop reusing identities.',
      },
      {
        text: 'If the second is a message in its own right, the producer must send it again under a new id. If it is a correction, the business decides. If it is an accident, give it up.',
      },
      giveUp,
    ],
    over: 'no conflict was counted for an hour and no message of that cause waits.',
  },
  {
    name: 'horizon-too-short',
    title: 'A message is older than the markers that would recognise it.',
    means:
      'Its marker may have been removed, so the store cannot know whether it was applied. With `retention.behindHorizon: park` it waits for a person. With `apply` it was applied, perhaps for the second time.',
    steps: [
      {
        text: 'How far back do markers reach, and how long does the contract keep them?',
        commands: ({ file }) => ['onceward retention status', `onceward retention plan ${file}`],
        queries: ({ series }) => [series('horizonAge'), series('keep', { kind: 'markers' })],
      },
      {
        text: 'Where does such an old message come from: a queue that was not read for long, a campaign of the producer, a topic whose retention was raised, a dead-letter queue that was put back? Stop that first.',
        commands: () => ['onceward parked show ID'],
      },
      {
        text: 'For each parked message, check whether its effect exists. If it does, give it up; if not, redrive it.',
        commands: ({ file }) => [`onceward explain --message MESSAGE --contract ${file}`],
      },
      giveUp,
      tryAgain,
      {
        text: 'Raise `retention.markers` above the longest time after which this source can repeat a message, or declare that time in `retention.sourceKeeps`. The consumer refuses to start with too short a retention.',
      },
    ],
    over: 'no message was behind the horizon for an hour, and markers are kept longer than the source keeps messages.',
  },
]
