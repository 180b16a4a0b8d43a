import { increased, onceOf } from '../promql.ts'
import type { RunbookStep } from '../step.ts'

/** Steps that several runbooks begin or end with. */
export const status: RunbookStep = {
  text: 'See whether its processes run, what is paused, what waits and since when.',
  commands: () => ['onceward status'],
}

export const deployments: RunbookStep = {
  text: 'Was it deployed, restarted or scaled in that hour? A process that ends hands its unfinished deliveries back.',
  queries: ({ series }) => [increased(series('sourceEvents'), '1h', ['consumer', 'kind'])],
}

export const crashLoop: RunbookStep = {
  text: 'Does a process die again and again? After a death what it may have died over is taken in groups that are halved at each further death; the log says so, and names the message that is parked for it.',
  queries: ({ series }) => [increased(series('suspects'), '1h'), increased(series('parkedSuspects'), '1h')],
}

export const slowDatabase: RunbookStep = {
  text: 'Is the database slow? Claiming and applying then take longer, and deliveries time out before they are settled.',
  queries: ({ series }) =>
    (['insertLatency', 'applyLatency'] as const).map(
      key => `histogram_quantile(0.99, sum by (le) (rate(${series(key, {}, '_bucket')}[10m])))`,
    ),
}

export const slowSettling: RunbookStep = {
  text: 'How long does the broker take to be told, and does it miss any of it?',
  queries: ({ series }) => [
    `histogram_quantile(0.99, sum by (le) (rate(${series('settleDuration', {}, '_bucket')}[10m])))`,
    increased(series('settleMissed'), '1h'),
  ],
}

export const causes: RunbookStep = {
  text: 'Group what waits by cause: one cause is one decision.',
  commands: ({ name }) => [
    `onceward parked groups --consumer ${name}`,
    `onceward parked list --consumer ${name} --cause CAUSE`,
    'onceward parked show ID',
  ],
}

export const story: RunbookStep = {
  text: 'Read the whole story of one of them: every delivery, decision, attempt, act and effect.',
  commands: ({ file }) => [`onceward explain --message MESSAGE --contract ${file}`],
}

export const tryAgain: RunbookStep = {
  text: 'Once the cause is mended, preview, then try again exactly what you saw, slowly at first; what waits behind a key goes with it, in order.',
  commands: ({ name }) => [
    `onceward parked redrive --consumer ${name} --cause CAUSE --because REASON --dry-run`,
    `onceward parked redrive --consumer ${name} --cause CAUSE --because REASON --rate 10 --expect DIGEST`,
    'onceward parked result REQUEST',
  ],
}

export const giveUp: RunbookStep = {
  text: 'What must never be applied is given up with a reason, so that a gap is on record; the key goes on.',
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
  text: 'Look at calls that failed or are in doubt. A repeat of a message must not have led to a second call: the ledger has one row per effect key.',
  commands: ({ name }) => [`onceward ledger list --consumer ${name}`, 'onceward ledger show ID'],
  applies: ({ effect }) => Object.keys(effect?.external ?? {}).length > 0,
}
