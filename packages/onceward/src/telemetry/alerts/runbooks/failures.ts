import { increased } from '../promql.ts'
import type { Runbook, RunbookStep } from '../step.ts'
import { causes, crashLoop, giveUp, status, story, tryAgain } from './steps.ts'

const assign: RunbookStep = {
  text: 'Record who handles them and what is known, so that two people do not do the same work.',
  commands: ({ name }) => [
    `onceward parked classify ID --consumer ${name} --label LABEL --assignee PERSON --note NOTE`,
  ],
}
const fixBytes: RunbookStep = {
  text: 'If the bytes are wrong and the right ones are known, replace them. The contract reads the new bytes before they are accepted, and the original bytes are kept. For risk money or regulatory, a second person approves them before the redrive.',
  commands: ({ name, file }) => [
    'onceward parked show ID --body-to before.json',
    `onceward parked fix ID --consumer ${name} --payload after.json --contract ${file} --because REASON --dry-run`,
    `onceward parked fix ID --consumer ${name} --payload after.json --contract ${file} --because REASON`,
    'onceward parked approve REQUEST --expect DIGEST --because REASON',
  ],
}
const fixState: RunbookStep = {
  text: 'If you fixed something else (a row, a setting, a deployment), record it on the message before the redrive.',
  commands: ({ name }) => [`onceward parked fix ID --consumer ${name} --because REASON`],
}

export const failureRunbooks: readonly Runbook[] = [
  {
    name: 'dead-letters',
    title: 'Messages were set aside: parked or dead-lettered.',
    means:
      'They are stored complete, with headers, attempts and reason, and wait for a person. With order by key, later messages of the same key wait behind them. They are not lost, and they are not processed.',
    steps: [causes, story, assign, fixBytes, fixState, tryAgain, giveUp],
    over: 'no message of these causes waits: each was redriven, or given up with a reason.',
  },
  {
    name: 'retries-exhausted',
    title: 'Messages failed at their last attempt.',
    means:
      'They were tried as often as the contract says, over its whole backoff, and then set aside. Their business process has stopped.',
    steps: [
      {
        text: 'Which failure class, and does it continue?',
        queries: ({ series }) => [
          increased(series('failures'), '1h', ['class']),
          increased(series('retries'), '1h', ['class']),
        ],
      },
      causes,
      {
        text: 'Transient, overload, rate limited: the dependency was unavailable for longer than the attempts last, and too few messages failed for the breaker to open. Fix it. To survive such an outage, raise `failure.attemptsMax` or `failure.delayMaxMs`.',
      },
      { text: 'Unclassified: the contract does not name this error. Add its code to `failure.classes`.' },
      tryAgain,
      giveUp,
    ],
    over: 'no message of these causes waits.',
  },
  {
    name: 'poison',
    title: 'A message cannot succeed.',
    means:
      'It is unreadable, fails the same way every time, or crashes its process. It was set aside so that the others continue. `parked groups` shows which.',
    steps: [
      causes,
      crashLoop,
      {
        text: 'It crashes its process: run the consumer in a child process (`isolation: { mode: child }`) until the handler is fixed. A crash then costs one restart.',
      },
      {
        text: 'Reproduce it: write the bytes to a file and pass them to the handler in a test.',
        commands: () => ['onceward parked show ID --body-to message.bin'],
      },
      {
        text: 'Deploy the fixed handler first. Then redrive one message before all of them.',
        commands: ({ name }) => [`onceward parked redrive ID --consumer ${name} --because REASON`],
      },
      tryAgain,
      giveUp,
    ],
    over: 'no message of that cause waits.',
  },
  {
    name: 'deserialization-failures',
    title: 'Messages cannot be read.',
    means:
      'Bytes, schema, type or version are not what the contract says. The handler never saw them; they are stored as they came. Another attempt without a change fails again: the producer or this consumer must change.',
    steps: [
      causes,
      {
        text: 'Check the reason: bytes that are no message (wrong serializer, truncated, other compression); a schema that does not match; a type or version that this consumer does not know; a limit.',
        queries: ({ series }) => [increased(series('unreadable'), '1h', ['reason'])],
      },
      {
        text: 'Report the reason and one example to the producer. Ask what was deployed there, and have it stopped if it continues.',
      },
      { text: 'A new version or type that is correct: deploy a consumer that reads it, then redrive.' },
      fixBytes,
      tryAgain,
      giveUp,
      {
        text: 'Add a compatibility check where schemas are changed. It refuses most of these messages before they are sent.',
      },
    ],
    over: 'none waits: each was redriven or given up, and no new ones arrive.',
  },
  {
    name: 'quarantined',
    title: 'Messages were quarantined.',
    means:
      'They may be broken or forged: unreadable bytes, content that contradicts itself, or a handler that rejected them. They are kept and never retried automatically. A growing number means bad data or a regression.',
    steps: [
      status,
      {
        text: 'Inspect them with these commands only. Treat their bytes as hostile until proved otherwise.',
        commands: ({ name }) => [
          `onceward parked groups --consumer ${name}`,
          `onceward parked list --consumer ${name} --state quarantined`,
          'onceward parked show ID',
        ],
      },
      {
        text: 'Was this consumer or the producer deployed just before? A regression begins with a deployment; roll it back.',
      },
      fixBytes,
      tryAgain,
      {
        text: 'Delete what must not be kept: request it, let a second person approve it, then run `parked erase`.',
        commands: ({ name }) => [
          `onceward parked delete ID --consumer ${name} --because REASON --dry-run`,
          'onceward parked approvals',
        ],
      },
    ],
    over: 'none waits: each was redriven, given up or deleted.',
  },
  {
    name: 'set-aside-too-long',
    title: 'A message has waited too long for a person.',
    means:
      'Fewer messages wait than `objectives.setAsideMax` allows, so no other alert fired. One of them has waited longer than `objectives.setAsideAgeMax`. It is stored complete and not processed.',
    steps: [causes, story, assign, fixBytes, fixState, tryAgain, giveUp],
    over: 'no message has waited longer than `objectives.setAsideAgeMax`.',
  },
]
