import { increased, onceOf } from '../promql.ts'
import type { Runbook } from '../step.ts'
import { causes, crashLoop, giveUp, slowDatabase, status, tryAgain } from './steps.ts'

export const heldRunbooks: readonly Runbook[] = [
  {
    name: 'stuck-claims',
    title: 'Workers took messages and fell silent.',
    means:
      'A worker died or was frozen, or work takes longer than its lease. Others take over under the next epoch, and whoever comes back late is refused: no effect happens twice, but time is lost.',
    steps: [
      status,
      {
        text: 'Which messages are they? `stuck` is one whose lease has ended and that nobody has taken yet: then no worker runs.',
        commands: ({ name }) => [
          `onceward inbox list --consumer ${name} --state stored`,
          'onceward inbox show ID',
        ],
      },
      crashLoop,
      {
        text: 'Do workers lose work they still do? Then the lease is too short for the work, or the event loop stands still: raise `inbox.leaseMs` above the longest handler, or do less in one go.',
        queries: ({ series }) => [
          increased(series('claimsLost'), '1h'),
          increased(series('claimsExpired'), '1h'),
        ],
      },
      slowDatabase,
      { text: 'Start workers if none runs.', commands: ({ file }) => [`onceward run ${file} --part worker`] },
      {
        text: 'One message can be taken from its worker now; that worker is fenced.',
        commands: ({ name }) => [`onceward inbox release ID --consumer ${name} --because REASON`],
      },
    ],
    over: 'nothing is stuck and fewer than `objectives.claimsExpiredPerHourMax` expire in an hour.',
  },
  {
    name: 'parking-near-cap',
    title: 'The parking lot is nearly full.',
    means:
      'At its cap nothing is dropped: what comes next waits at the source, and the consumer stands still for that key or as a whole. Act before that.',
    steps: [
      {
        text: 'Is it the whole, or what waits behind one key?',
        queries: ({ series }) => [onceOf(series('parkingUsed'), ['cap'])],
      },
      causes,
      {
        text: 'One cause for nearly all: mend it and try them again. One key for nearly all: mend its first message; the rest goes with it.',
      },
      tryAgain,
      giveUp,
      {
        text: 'To win time, raise `failure.parking.totalMax` or `perKeyMax` in the contract and start again: rows are cheap, decisions are not.',
      },
    ],
    over: 'less than `objectives.parkingShareMax` of the cap is used.',
  },
]
