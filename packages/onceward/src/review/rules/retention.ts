import type { Consumer } from '../../contract/define-consumer.ts'
import { durationText } from '../../contract/duration.ts'
import { isGrave } from '../../contract/failure-rules.ts'
import { neededRetention } from '../../contract/needed-retention.ts'
import { shortestMarkersMs } from '../../contract/retention.ts'
import { adviseRetention, reportsWindow, retentionText } from '../../contract/retention-advice.ts'
import type { Rule } from '../rule.ts'

const deadLettersMinMs = 7 * 86_400_000

/** With a section that starts, as it is. */
function missing(consumer: Consumer): string | null {
  if (consumer.retention !== null || consumer.dedup !== 'marker') return null
  return `the contract has no retention; add ${retentionText(adviseRetention(consumer))}`
}

export const retentionRules: readonly Rule<Consumer>[] = [
  {
    id: 'OW161',
    severity: 'note',
    title: 'Retention is configured',
    reason: 'Without a retention section nothing is removed. Correct, but tables grow without bound.',
    fix: 'Add the section that is named, or longer terms. Terms that are left out follow the risk.',
    judge: consumer => (isGrave(consumer.risk) ? null : missing(consumer)),
  },
  {
    id: 'OW162',
    severity: 'error',
    title: 'Markers outlive every repeat that the contract allows',
    reason: 'If a marker is removed before its last duplicate arrives, that duplicate counts as new.',
    fix: 'Raise retention.markers, or shorten the window or the retries.',
    judge: consumer => {
      const { retention, dedup } = consumer
      if (retention === null || dedup !== 'marker') return null
      return neededRetention(consumer, { unknown: 'not asked' })
        .reasons.filter(({ ms }) => ms > shortestMarkersMs(retention))
        .map(
          ({ what, ms }) =>
            `markers are kept for ${durationText(shortestMarkersMs(retention))}, ${what} ${durationText(ms)}`,
        )
    },
  },
  {
    id: 'OW163',
    severity: 'error',
    title: 'The contract declares how long the source may repeat messages',
    reason: 'This source cannot report it, so a contract that removes markers is refused at start.',
    fix: "Set retention.sourceKeeps, as in sourceKeeps: '14d'.",
    judge: ({ retention, dedup, source }) =>
      retention !== null &&
      retention.sourceKeeps === null &&
      dedup === 'marker' &&
      (source.kind === 'postgres' || source.kind === 'file') &&
      !reportsWindow(source)
        ? `retention without sourceKeeps on ${source.kind === 'file' ? 'a file source' : 'a queue in another database'}`
        : null,
  },
  {
    id: 'OW164',
    severity: 'error',
    title: 'Old messages of money are not applied unchecked',
    reason: 'A message older than the horizon may be a repeat; applied again, its effect happens twice.',
    fix: "Omit retention.behindHorizon, or set it to 'park'.",
    judge: ({ retention, risk }) =>
      retention?.behindHorizon === 'apply' && (isGrave(risk) || risk === 'notification')
        ? `retention.behindHorizon is 'apply' with risk '${risk}'`
        : null,
  },
  {
    id: 'OW165',
    severity: 'warning',
    title: 'Dead letters are kept long enough for operators',
    reason: 'A holiday is longer than a few days; a removed message cannot be redriven.',
    fix: 'Raise retention.deadLetters, or omit it: dead letters are then never removed.',
    judge: ({ retention }) =>
      retention !== null && retention.deadLetters !== null && retention.deadLetters < deadLettersMinMs
        ? `retention.deadLetters is ${durationText(retention.deadLetters)}`
        : null,
  },
  {
    id: 'OW166',
    severity: 'error',
    title: 'The retention of money is decided',
    reason:
      'How long a payment is recognised is a decision for auditors. Without a retention section it was not made, and tables grow without bound until an operator removes rows by hand.',
    fix: 'Add the section that is named, or longer terms. Terms that are left out follow the risk.',
    judge: consumer => (isGrave(consumer.risk) ? missing(consumer) : null),
  },
]
