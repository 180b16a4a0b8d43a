import { increased, onceOf } from '../promql.ts'
import type { Runbook } from '../step.ts'
import { causes, crashLoop, giveUp, slowDatabase, status, tryAgain } from './steps.ts'

export const heldRunbooks: readonly Runbook[] = [
  {
    name: 'stuck-leases',
    title: 'Workers leased messages and stopped responding.',
    means:
      'A worker died or froze, or the work takes longer than its lease. Other workers take over under the next epoch. The store rejects the commit of a worker that returns late. No effect happens twice, but time is lost.',
    steps: [
      status,
      {
        text: 'Which messages are they? `stuck` means that the lease has expired and no worker has leased the row again: no worker runs.',
        commands: ({ name }) => [
          `onceward work list --consumer ${name} --state stored`,
          'onceward work show ID',
        ],
      },
      crashLoop,
      {
        text: 'Do workers lose work that they still do? Then the lease is too short for the work, or the event loop blocks. Raise `inbox.leaseMs` above the longest handler, or handle less at a time.',
        queries: ({ series }) => [
          increased(series('leasesLost'), '1h'),
          increased(series('leasesExpired'), '1h'),
        ],
      },
      slowDatabase,
      { text: 'Start workers if none runs.', commands: ({ file }) => [`onceward run ${file} --part worker`] },
      {
        text: 'To take one message from its worker now, release it. The store fences that worker.',
        commands: ({ name }) => [`onceward work release ID --consumer ${name} --because REASON`],
      },
    ],
    over: 'no message is stuck and fewer than `objectives.leasesExpiredPerHourMax` leases expire in an hour.',
  },
  {
    name: 'work-unserved',
    title: 'Acknowledged messages wait, and no worker processes them.',
    means:
      'The broker no longer has these messages. They are rows of the store, under the name and generation that acknowledged them. Only a worker of that name and generation leases them. Or a campaign that may request external effects holds them, and its approval has expired. Nothing is lost, but the messages do not move.',
    steps: [
      {
        text: 'Find out what they wait for, and how many there are.',
        commands: () => ['onceward status', 'onceward work list --state stored'],
        queries: ({ series }) => [onceOf(series('heldUnserved'), ['waits_for'])],
      },
      {
        text: 'The consumer is down, or runs without a worker: start one.',
        commands: ({ file }) => [`onceward run ${file} --part worker`],
      },
      {
        text: 'The generation was raised: run the contract with the former generation as a worker until nothing of it is pending. The new generation can start beside it.',
        commands: ({ file }) => [`onceward run ${file} --part worker`],
      },
      {
        text: 'The consumer was renamed: rename it in the database too. It was removed, or separated from its source: run its former contract as a worker until nothing is pending.',
        commands: () => ['onceward consumers rename FORMER NAME --because REASON'],
      },
      {
        text: 'They wait for the approval of a campaign: have it approved again, or cancel it. After a cancel, workers apply its messages without their external effects.',
        commands: ({ name }) => [
          'onceward replay show ID',
          `onceward replay approve ID --consumer ${name} --plan DIGEST --because REASON`,
          `onceward replay cancel ID --consumer ${name} --because REASON`,
        ],
      },
    ],
    over: '`onceward status` lists no messages that wait for a worker or an approval.',
  },
  {
    name: 'parking-near-cap',
    title: 'The parking lot is nearly full.',
    means:
      'At the cap nothing is dropped. Later messages wait at the source, and the consumer stops for that key or as a whole. Act before that.',
    steps: [
      {
        text: 'Is the total cap near, or the cap of one key?',
        queries: ({ series }) => [onceOf(series('parkingUsed'), ['cap'])],
      },
      causes,
      {
        text: 'One cause for nearly all: fix it and redrive them. One key for nearly all: fix its first message, and the others follow.',
      },
      tryAgain,
      giveUp,
      {
        text: 'To gain time, raise `failure.parking.totalMax` or `perKeyMax` in the contract and restart.',
      },
    ],
    over: 'less than `objectives.parkingShareMax` of the cap is used.',
  },
]
