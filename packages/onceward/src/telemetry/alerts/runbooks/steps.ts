import { increased, onceOf } from '../promql.ts'
import type { RunbookStep } from '../step.ts'

/** Steps that several runbooks share. */
export const status: RunbookStep = {
  text: 'Check which processes run, which consumers are paused, what waits and since when.',
  commands: () => ['onceward status'],
}

export const deployments: RunbookStep = {
  text: 'Was the consumer deployed, restarted or scaled in that hour? A process that ends returns its unfinished deliveries.',
  queries: ({ series }) => [increased(series('sourceEvents'), '1h', ['consumer', 'kind'])],
}

export const crashLoop: RunbookStep = {
  text: 'Does a process die again and again? After a crash, its workers take the suspect messages in groups. Each further crash halves the group. The log shows this and names the message that is parked for it.',
  queries: ({ series }) => [increased(series('suspects'), '1h'), increased(series('parkedSuspects'), '1h')],
}

export const slowDatabase: RunbookStep = {
  text: 'Is the database slow? Inserting markers and applying then take longer, and deliveries time out before they are acknowledged.',
  queries: ({ series }) =>
    (['insertLatency', 'applyLatency'] as const).map(
      key => `histogram_quantile(0.99, sum by (le) (rate(${series(key, {}, '_bucket')}[10m])))`,
    ),
}

export const slowSettling: RunbookStep = {
  text: 'How long do acknowledgements take, and do any fail?',
  queries: ({ series }) => [
    `histogram_quantile(0.99, sum by (le) (rate(${series('settleDuration', {}, '_bucket')}[10m])))`,
    increased(series('settleMissed'), '1h'),
  ],
}

export const causes: RunbookStep = {
  text: 'Group the waiting messages by cause. One cause needs one decision.',
  commands: ({ name }) => [
    `onceward parked groups --consumer ${name}`,
    `onceward parked list --consumer ${name} --cause CAUSE`,
    'onceward parked show ID',
  ],
}

export const story: RunbookStep = {
  text: 'Read the full history of one of them: every delivery, decision, attempt, operator action and effect.',
  commands: ({ file }) => [`onceward explain --message MESSAGE --contract ${file}`],
}

export const tryAgain: RunbookStep = {
  text: 'Fix the cause. Preview the redrive, then redrive exactly what you saw, slowly at first. Messages that wait behind a key are redriven with it, in order.',
  commands: ({ name }) => [
    `onceward parked redrive --consumer ${name} --cause CAUSE --because REASON --dry-run`,
    `onceward parked redrive --consumer ${name} --cause CAUSE --because REASON --rate 10 --expect DIGEST`,
    'onceward parked result REQUEST',
  ],
}

export const giveUp: RunbookStep = {
  text: 'Give up messages that must never be applied, with a reason. The database records what is missing, and the key continues.',
  commands: ({ name }) => [
    `onceward parked skip ID --consumer ${name} --because REASON`,
    `onceward parked closed --consumer ${name}`,
  ],
}

export const partitions: RunbookStep = {
  text: 'Which partitions are behind?',
  queries: ({ series }) => [
    onceOf(series('lag'), ['partition']),
    `min by (partition) (${series('checkpointAge')})`,
  ],
}

export const ledgerClean: RunbookStep = {
  text: 'Look at calls that failed or have an unknown outcome. A repeated message must not have caused a second call: the ledger has one row per effect key.',
  commands: ({ name }) => [`onceward ledger list --consumer ${name}`, 'onceward ledger show ID'],
  applies: ({ effect }) => Object.keys(effect?.external ?? {}).length > 0,
}
