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
    title: 'A message that fails does not hold others for long',
    reason:
      "In mode 'block' its lane waits, and with it everything behind: lag grows and the projection is stale.",
    fix: "Use failure.mode 'defer', or make attempts or delays fewer.",
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
    title: 'Somebody notices a lane that stopped',
    reason:
      "With exhausted 'stop' a lane waits before its message for as long as it takes; nothing is skipped.",
    fix: 'Have an alert on the oldest unfinished message, and know who decides.',
    judge: ({ failure }) => (failure.exhausted === 'stop' ? "failure.exhausted is 'stop'" : null),
  },
  {
    id: 'OW133',
    severity: 'warning',
    title: 'What can never succeed is not tried again',
    reason: 'The same bytes fail in the same way; every try costs time, and on a lane everybody else’s.',
    fix: 'Leave attemptsMax of that class out: it is 1.',
    judge: ({ failure }) =>
      permanent
        .filter(name => failure.rules[name].attemptsMax > 1)
        .map(name => `failure.policies['${name}'].attemptsMax is ${failure.rules[name].attemptsMax}`),
  },
  {
    id: 'OW134',
    severity: 'note',
    title: 'Retries are spread',
    reason: 'Without jitter everything that failed at one moment is tried again at one moment.',
    fix: "Leave failure.jitter out; in a policy file, use failure.retry.backoff 'exponential-jitter'.",
    judge: ({ failure }) => (failure.jitter ? null : 'failure.jitter is false'),
  },
  {
    id: 'OW135',
    severity: 'warning',
    title: 'An outage pauses the source',
    reason:
      'Without a breaker every message spends its attempts on a downstream that is away, and is parked.',
    fix: 'Leave failure.breaker out, or give it numbers.',
    judge: ({ failure, settle }) =>
      failure.breaker === null && settle.when !== 'before effect' ? 'failure.breaker is false' : null,
  },
  {
    id: 'OW136',
    severity: 'error',
    title: 'Dead letters do not come back by themselves',
    reason: 'A copy sent to the queue it came from is read, fails and is copied again, for ever.',
    fix: 'Name another queue or topic in failure.deadLetter, and read it with people or tools.',
    judge: ({ failure, source }) => {
      const { queue, topic } = source as { queue?: string; topic?: string }
      return failure.deadLetter !== null && failure.deadLetter === (queue ?? topic)
        ? `failure.deadLetter names ${failure.deadLetter}, the source itself`
        : null
    },
  },
]
