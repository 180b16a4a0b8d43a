import { durationMaxMs } from '../../contract/duration.ts'
import { type PolicyKey, same } from './policy-key.ts'

const kept = { kind: 'duration', min: 0, max: durationMaxMs } as const
const lookBack = { kind: 'duration', min: 1_000, max: 31 * 86_400_000 } as const
const perHour = { kind: 'count', min: 0, max: 1_000_000_000 } as const

/** How long what is done is remembered, and what being in time means. */
export const keepingKeys: readonly PolicyKey[] = [
  { ...same('retention.markers'), ...kept, description: 'how long a repeated message is recognised' },
  {
    ...same('retention.businessKeys'),
    ...kept,
    description: 'business keys. Default and least: as long as markers',
  },
  {
    ...same('retention.effects'),
    ...kept,
    description: 'completed external effects. Default and least: as long as markers',
  },
  {
    ...same('retention.notes'),
    ...kept,
    description: 'what was said of messages that were not simply applied',
  },
  {
    ...same('retention.attempts'),
    ...kept,
    description: 'failed attempts. Default and least: as long as markers',
  },
  {
    ...same('retention.deadLetters'),
    ...kept,
    description: 'dead letters and quarantined messages. Default: never removed',
  },
  {
    ...same('retention.wouldHave'),
    ...kept,
    description: 'what campaigns that are over would have asked for. Default: as long as markers',
  },
  {
    ...same('retention.heldActions'),
    ...kept,
    description: 'what people did to messages that are held no more. Default: as long as markers',
  },
  {
    ...same('retention.sourceKeeps'),
    ...kept,
    description: 'longest time after which the source may hand a message over again',
  },
  {
    ...same('retention.action'),
    kind: 'word',
    words: ['delete', 'archive'],
    description: 'what happens to what is forgotten. Default `delete`',
  },
  {
    ...same('retention.behindHorizon'),
    kind: 'word',
    words: ['park', 'apply'],
    description: 'what happens to a message older than the markers that are left. Default by risk',
  },
  {
    ...same('retention.partitions'),
    kind: 'word',
    words: ['daily'],
    description:
      'a table for each day of the ids, dropped when all of it may be forgotten. Needs `identity.idTime`. Default: one table',
  },
  {
    ...same('objectives.lagMax'),
    ...lookBack,
    description: 'age of what is not applied yet. Default by risk',
  },
  {
    ...same('objectives.lagRecordsMax'),
    ...perHour,
    description: 'records that may wait at the broker while their number grows. Default 10000',
  },
  {
    ...same('objectives.applyP99Max'),
    kind: 'duration',
    min: 1,
    max: 31 * 86_400_000,
    description: '99 of 100 batches are applied within it. Default half of `batch.handlerTimeout`',
  },
  {
    ...same('objectives.duplicateShareMax'),
    kind: 'share',
    description: 'share of deliveries that may be repeats. Default 0.1',
  },
  {
    ...same('objectives.setAsideMax'),
    ...perHour,
    description:
      'dead letters, parked and quarantined messages that may wait for a person, of one reason. Default by risk',
  },
  {
    ...same('objectives.setAsideAgeMax'),
    ...lookBack,
    description: 'how long any of them may wait, however few they are. Default 24h',
  },
  {
    ...same('objectives.claimsExpiredPerHourMax'),
    ...perHour,
    description: 'work taken from silent workers in an hour. Default 5',
  },
  {
    ...same('objectives.outboxAgeMax'),
    ...lookBack,
    description: 'age of the oldest message in the outbox. Default as lagMax',
  },
  {
    ...same('objectives.parkingShareMax'),
    kind: 'share',
    description: 'share of failure.parking.totalMax from which parking is nearly full. Default 0.8',
  },
  {
    ...same('objectives.idleMax'),
    ...lookBack,
    description: 'the source is never silent for longer. Default: as the day before',
  },
]
