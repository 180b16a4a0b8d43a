import { increased, onceOf } from '../promql.ts'
import type { Runbook } from '../step.ts'
import { causes, crashLoop, giveUp, slowDatabase, status, tryAgain } from './steps.ts'

export const heldRunbooks: readonly Runbook[] = [
  {
    name: 'stuck-leases',
    title: 'Workers took messages and fell silent.',
    means:
      'A worker died or was frozen, or work takes longer than its lease. Others take over under the next epoch, and whoever comes back late is refused: no effect happens twice, but time is lost.',
    steps: [
      status,
      {
        text: 'Which messages are they? `stuck` is one whose lease has ended and that nobody has taken yet: then no worker runs.',
        commands: ({ name }) => [
          `onceward work list --consumer ${name} --state stored`,
          'onceward work show ID',
        ],
      },
      crashLoop,
      {
        text: 'Do workers lose work they still do? Then the lease is too short for the work, or the event loop stands still: raise `inbox.leaseMs` above the longest handler, or do less in one go.',
        queries: ({ series }) => [
          increased(series('leasesLost'), '1h'),
          increased(series('leasesExpired'), '1h'),
        ],
      },
      slowDatabase,
      { text: 'Start workers if none runs.', commands: ({ file }) => [`onceward run ${file} --part worker`] },
      {
        text: 'One message can be taken from its worker now; that worker is fenced.',
        commands: ({ name }) => [`onceward work release ID --consumer ${name} --because REASON`],
      },
    ],
    over: 'nothing is stuck and fewer than `objectives.leasesExpiredPerHourMax` expire in an hour.',
  },
  {
    name: 'work-unserved',
    title: 'Acknowledged messages wait, and nobody works on them.',
    means:
      'The broker has forgotten these messages: they are rows of the store, under the name and generation that acknowledged them, and only a worker of that name and generation takes them up. Or a campaign set them aside that may ask for external effects, and its approval has expired. Nothing is lost, but nothing happens to them.',
    steps: [
      {
        text: 'What do they wait for, and how many are there?',
        commands: () => ['onceward status', 'onceward work list --state stored'],
        queries: ({ series }) => [onceOf(series('heldUnserved'), ['waits_for'])],
      },
      {
        text: 'The consumer is down, or runs without a worker: start one.',
        commands: ({ file }) => [`onceward run ${file} --part worker`],
      },
      {
        text: 'Its generation was raised: run the contract with the former generation as a worker until nothing of it is pending. The new generation starts beside it.',
        commands: ({ file }) => [`onceward run ${file} --part worker`],
      },
      {
        text: 'It was renamed: give the new name its memory. It was removed, or separated from its place: run its former contract as a worker until nothing is pending.',
        commands: () => ['onceward consumers rename FORMER NAME --because REASON'],
      },
      {
        text: 'They wait for the approval of a campaign: have it approved again, or cancel it. Cancelled, its messages are applied without their external effects.',
        commands: ({ name }) => [
          'onceward replay show ID',
          `onceward replay approve ID --consumer ${name} --plan DIGEST --because REASON`,
          `onceward replay cancel ID --consumer ${name} --because REASON`,
        ],
      },
    ],
    over: '`onceward status` names no messages that wait for a worker or an approval.',
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
