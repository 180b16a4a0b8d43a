import type { Consumer } from '../../contract/define-consumer.ts'
import { durationText } from '../../contract/duration.ts'
import { retryHorizonMs } from '../../contract/needed-retention.ts'
import type { Rule } from '../rule.ts'

const laneWaitMaxMs = 15 * 60_000
const permanent = ['validation', 'poison', 'corruption', 'business conflict'] as const

export const failureRules: readonly Rule<Consumer>[] = [
  {
    id: 'OW131',
    severity: 'warning',
    title: 'A failing message does not block others for long',
    reason:
      "In mode 'block' its lane waits, with every message behind it: lag grows and the projection is stale.",
    fix: "Use failure.mode 'defer', or reduce attempts or delays.",
    judge: consumer => {
      const ms = retryHorizonMs(consumer)
      return consumer.failure.mode === 'block' && consumer.inbox.mode !== 'stored' && ms > laneWaitMaxMs
        ? `failure.mode 'block' may hold a lane for ${durationText(ms)}`
        : null
    },
  },
  {
    id: 'OW132',
    severity: 'note',
    title: 'A stopped lane raises an alert',
    reason: "With exhausted 'stop' a lane waits at its failing message without a limit; nothing is skipped.",
    fix: 'Alert on the oldest unfinished message, and name who decides.',
    judge: ({ failure }) => (failure.exhausted === 'stop' ? "failure.exhausted is 'stop'" : null),
  },
  {
    id: 'OW133',
    severity: 'warning',
    title: 'Permanent failures are not retried',
    reason:
      'The same bytes fail the same way. Every attempt costs time, and delays the other messages of the lane.',
    fix: 'Omit attemptsMax of that class: it is 1.',
    judge: ({ failure }) =>
      permanent
        .filter(name => failure.rules[name].attemptsMax > 1)
        .map(name => `failure.policies['${name}'].attemptsMax is ${failure.rules[name].attemptsMax}`),
  },
  {
    id: 'OW134',
    severity: 'note',
    title: 'Retries have jitter',
    reason: 'Without jitter, all messages that failed together are retried together.',
    fix: "Omit failure.jitter; in a policy file, use failure.retry.backoff 'exponential-jitter'.",
    judge: ({ failure }) => (failure.jitter ? null : 'failure.jitter is false'),
  },
  {
    id: 'OW135',
    severity: 'warning',
    title: 'An outage pauses the source',
    reason:
      'Without a breaker every message uses up its attempts on an unavailable dependency, and is parked.',
    fix: 'Omit failure.breaker, or configure it.',
    judge: ({ failure, settle }) =>
      failure.breaker === null && settle.when !== 'before effect' ? 'failure.breaker is false' : null,
  },
  {
    id: 'OW136',
    severity: 'error',
    title: 'Dead letters do not return to the source',
    reason: 'A copy sent to its own source queue is read, fails and is copied again, without end.',
    fix: 'Name another queue or topic in failure.deadLetter.',
    judge: ({ failure, source }) => {
      const { queue, topic } = source as { queue?: string; topic?: string }
      return failure.deadLetter !== null && failure.deadLetter === (queue ?? topic)
        ? `failure.deadLetter names ${failure.deadLetter}, the source itself`
        : null
    },
  },
]
