import type { Consumer } from '../../contract/define-consumer.ts'
import { durationText } from '../../contract/duration.ts'
import { isGrave } from '../../contract/failure-rules.ts'
import { neededRetention } from '../../contract/needed-retention.ts'
import type { Rule } from '../rule.ts'

const deadLettersMinMs = 7 * 86_400_000

export const retentionRules: readonly Rule<Consumer>[] = [
  {
    id: 'OW161',
    severity: 'note',
    title: 'Somebody decided how long memory is kept',
    reason: 'Without a retention section nothing is ever removed: right, and the tables grow for ever.',
    fix: 'Set retention; retention: {} takes the terms of the risk.',
    judge: ({ retention, dedup }) =>
      retention === null && dedup === 'marker' ? 'the contract has no retention' : null,
  },
  {
    id: 'OW162',
    severity: 'error',
    title: 'Memory outlives what the contract itself lets come back',
    reason: 'A marker that is gone before its last duplicate lets that duplicate pass for new.',
    fix: 'Raise retention.markers, or make the window or the retries shorter.',
    judge: consumer => {
      const { retention, dedup } = consumer
      if (retention === null || dedup !== 'marker') return null
      return neededRetention(consumer, { unknown: 'not asked' })
        .reasons.filter(({ ms }) => ms > retention.markers)
        .map(
          ({ what, ms }) =>
            `retention.markers is ${durationText(retention.markers)}, ${what} ${durationText(ms)}`,
        )
    },
  },
  {
    id: 'OW163',
    severity: 'error',
    title: 'It is known how long the source may repeat itself',
    reason: 'Nobody can ask this source, so a contract that forgets is refused at start.',
    fix: "Say it in retention.sourceKeeps, as in sourceKeeps: '14d'.",
    judge: ({ retention, dedup, source }) =>
      retention !== null &&
      retention.sourceKeeps === null &&
      dedup === 'marker' &&
      (source.kind === 'postgres' || source.kind === 'file')
        ? `retention without sourceKeeps on a ${source.kind} source`
        : null,
  },
  {
    id: 'OW164',
    severity: 'error',
    title: 'Old messages of money are not applied unseen',
    reason: 'A message older than the markers that are left may be a repeat; applied, it happens twice.',
    fix: "Leave retention.behindHorizon out, or set it to 'park'.",
    judge: ({ retention, risk }) =>
      retention?.behindHorizon === 'apply' && (isGrave(risk) || risk === 'notification')
        ? `retention.behindHorizon is 'apply' with risk '${risk}'`
        : null,
  },
  {
    id: 'OW165',
    severity: 'warning',
    title: 'Dead letters wait for people long enough',
    reason: 'A holiday is longer than a few days; what was removed cannot be replayed.',
    fix: 'Raise retention.deadLetters, or leave it out: they are then never removed.',
    judge: ({ retention }) =>
      retention !== null && retention.deadLetters !== null && retention.deadLetters < deadLettersMinMs
        ? `retention.deadLetters is ${durationText(retention.deadLetters)}`
        : null,
  },
]
