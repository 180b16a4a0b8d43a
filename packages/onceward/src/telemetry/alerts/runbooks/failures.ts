import { increased } from '../promql.ts'
import type { Runbook, RunbookStep } from '../step.ts'
import { causes, crashLoop, giveUp, status, story, tryAgain } from './steps.ts'

const assign: RunbookStep = {
  text: 'Say who looks after them and what is known, so that nobody does it twice.',
  commands: ({ name }) => [
    `onceward parked classify ID --consumer ${name} --label LABEL --assignee PERSON --note NOTE`,
  ],
}
const fixBytes: RunbookStep = {
  text: 'If the bytes are wrong and the right ones are known, put them in place; the contract reads them before they are taken, and the first are kept. Of risk money or regulatory somebody else approves them before they go.',
  commands: ({ name, file }) => [
    'onceward parked show ID --body-to before.json',
    `onceward parked fix ID --consumer ${name} --payload after.json --contract ${file} --because REASON --dry-run`,
    `onceward parked fix ID --consumer ${name} --payload after.json --contract ${file} --because REASON`,
    'onceward parked approve REQUEST --expect DIGEST --because REASON',
  ],
}
const fixState: RunbookStep = {
  text: 'If something else was mended (a row, a setting, a deployment), note it with the message before trying again.',
  commands: ({ name }) => [`onceward parked fix ID --consumer ${name} --because REASON`],
}

export const failureRunbooks: readonly Runbook[] = [
  {
    name: 'dead-letters',
    title: 'Messages were set aside: parked or dead-lettered.',
    means:
      'They are stored whole, with headers, attempts and reason, and wait for a person. Under key order later messages of the same key wait behind them. They are not lost, and they are not processed.',
    steps: [causes, story, assign, fixBytes, fixState, tryAgain, giveUp],
    over: 'nothing of these causes waits: replayed, or given up with a reason.',
  },
  {
    name: 'retries-exhausted',
    title: 'Messages failed at their last attempt.',
    means:
      'They were tried as often as the contract says, over its whole backoff, and then set aside. The process they belong to stands still.',
    steps: [
      {
        text: 'Which class, and is it going on?',
        queries: ({ series }) => [
          increased(series('failures'), '1h', ['class']),
          increased(series('retries'), '1h', ['class']),
        ],
      },
      causes,
      {
        text: 'Transient, overload, rate limited: the dependency was away longer than the attempts last, and too few messages failed for an outage to be seen. Mend it; then raise `failure.attemptsMax` or `failure.delayMaxMs` if this is to be survived.',
      },
      { text: 'Unclassified: an error nobody has named. Put its code into `failure.classes`.' },
      tryAgain,
      giveUp,
    ],
    over: 'nothing of these causes waits.',
  },
  {
    name: 'poison',
    title: 'A message cannot succeed.',
    means:
      'It is unreadable, fails in the same way every time, or kills its process. It was set aside so that the others go on. `parked groups` shows which.',
    steps: [
      causes,
      crashLoop,
      {
        text: 'Deadly ones: let the consumer run in a child (`isolation: { mode: child }`) until the handler is mended, so that a death costs a restart and nothing more.',
      },
      {
        text: 'Reproduce it: write the bytes to a file and give them to the handler in a test.',
        commands: () => ['onceward parked show ID --body-to message.bin'],
      },
      {
        text: 'Deploy the mended handler first; only then try again, one message before all of them.',
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
      'Bytes, schema, type or version are not what the contract says. The handler never saw them; they are stored as they came. Trying again unchanged will not help: either the producer or this consumer must change.',
    steps: [
      causes,
      {
        text: 'By reason: bytes that are no message (wrong serializer, cut off, compressed otherwise); a schema that does not match; a type or version this consumer does not know; a limit.',
        queries: ({ series }) => [increased(series('unreadable'), '1h', ['reason'])],
      },
      {
        text: 'Tell the producer, with the reason and one example. Ask what was deployed there, and stop it if it goes on.',
      },
      { text: 'A new version or type that is right: deploy a consumer that reads it, then try again.' },
      fixBytes,
      tryAgain,
      giveUp,
      {
        text: 'Add a compatibility gate where schemas are changed: most of these can be refused before they are sent.',
      },
    ],
    over: 'none waits: each was replayed or given up, and no new ones arrive.',
  },
  {
    name: 'quarantined',
    title: 'Messages were quarantined.',
    means:
      'They are suspected of being broken or forged: unreadable bytes, content that contradicts itself, or a handler that said so. They are kept and never tried again by themselves. A growing number means bad data or a regression.',
    steps: [
      status,
      {
        text: 'Look at them without opening them anywhere else: their bytes are hostile until proved otherwise.',
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
        text: 'What must not be kept is erased with a second person.',
        commands: ({ name }) => [
          `onceward parked delete ID --consumer ${name} --because REASON --dry-run`,
          'onceward parked approvals',
        ],
      },
    ],
    over: 'none waits: each was replayed, given up or erased.',
  },
  {
    name: 'set-aside-too-long',
    title: 'A message has waited too long for a person.',
    means:
      'Fewer messages wait than `objectives.setAsideMax` allows, so no other alert fired, but one of them has waited longer than `objectives.setAsideAgeMax`. It is stored whole and not processed.',
    steps: [causes, story, assign, fixBytes, fixState, tryAgain, giveUp],
    over: 'no message has waited longer than `objectives.setAsideAgeMax`.',
  },
]
