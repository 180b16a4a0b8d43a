import { failureClasses } from '../../contract/known-names.ts'
import { inMs, type PolicyKey, same } from './policy-key.ts'

const delayMaxMs = 2 ** 31 - 1
const delay = { kind: 'duration', min: 0, max: delayMaxMs } as const
const attempts = { kind: 'count', min: 1, max: 1_000 } as const

/**
 * What happens when a message does not get through. Attempts, delays and jitter are said by `failure.retry`, in the words operations policies are
 * written in; a contract has words of its own for them (`retry-import.ts`).
 */
export const failureKeys: readonly PolicyKey[] = [
  {
    key: 'failure.retry.maxAttempts',
    at: 'failure.attemptsMax',
    ...attempts,
    description: 'attempts of one message, counted durably, before it is set aside. Default 5',
  },
  {
    key: 'failure.retry.initialDelay',
    at: 'failure.delayMs',
    ...delay,
    description: 'before the second attempt. Default 1s',
  },
  {
    key: 'failure.retry.maxDelay',
    at: 'failure.delayMaxMs',
    ...delay,
    description: 'doubled up to here. Default 60s',
  },
  {
    key: 'failure.retry.backoff',
    at: 'failure.jitter',
    kind: 'word',
    words: ['exponential', 'exponential-jitter'],
    description: 'how the delay grows. Default `exponential-jitter`: anything from zero to it',
  },
  {
    key: 'failure.retry.retryable',
    at: 'failure.classes',
    kind: 'texts',
    description: 'error codes that are tried again',
  },
  {
    key: 'failure.retry.nonRetryable',
    at: 'failure.classes',
    kind: 'texts',
    description: 'error codes that are not',
  },
  {
    ...same('failure.mode'),
    kind: 'word',
    words: ['block', 'defer', 'retry queue', 'retry topic'],
    description: 'where a message waits for its next try. Default `block`: unsettled, its lane behind it',
  },
  {
    ...same('failure.classes.*'),
    kind: 'word',
    words: failureClasses,
    description: 'error code, class name, SQLSTATE or HTTP status → failure class',
  },
  {
    ...same('failure.policies.*.attemptsMax'),
    ...attempts,
    description: 'a budget of its own for a failure class. 1: never tried again',
  },
  { ...inMs('failure.policies.*.delay'), ...delay, description: 'its first delay' },
  { ...inMs('failure.policies.*.delayMax'), ...delay, description: 'its longest' },
  {
    ...same('failure.policies.*.terminal'),
    kind: 'word',
    words: ['parked', 'dead-lettered', 'quarantined', 'halted'],
    description: 'where a message of this class ends',
  },
  {
    ...same('failure.policies.*.breaker'),
    kind: 'flag',
    description: 'whether such failures say that the downstream is away',
  },
  {
    ...same('failure.poison.maxAttemptsBeforePark'),
    ...attempts,
    description: 'the same class, code and place this often: parked, whatever attempts are left',
  },
  { ...same('failure.breaker'), kind: 'off', description: '`false`: never pauses the source' },
  {
    ...same('failure.breaker.failuresMax'),
    kind: 'count',
    min: 2,
    max: 10_000,
    description: 'failures in a row, of two messages at least, that pause the source. Default 5',
  },
  {
    ...inMs('failure.breaker.pause'),
    kind: 'duration',
    min: 1,
    max: delayMaxMs,
    description: 'until one message is tried. Default 1s',
  },
  {
    ...inMs('failure.breaker.pauseMax'),
    kind: 'duration',
    min: 1,
    max: delayMaxMs,
    description: 'doubled up to here. Default 60s',
  },
  {
    ...same('failure.exhausted'),
    kind: 'word',
    words: ['set aside', 'stop'],
    description: 'what becomes of a message without attempts left. Default `set aside`',
  },
  {
    ...same('failure.parking.perKeyMax'),
    kind: 'count',
    min: 1,
    max: 100_000_000,
    description: 'messages behind the parked head of one key. Default 10000',
  },
  {
    ...same('failure.parking.totalMax'),
    kind: 'count',
    min: 1,
    max: 100_000_000,
    description: 'parked messages in all. Default 1000000',
  },
  {
    ...same('failure.deadLetter.to'),
    kind: 'text',
    description: 'queue or topic on the same broker that gets a copy of dead letters',
  },
  {
    ...same('failure.deadLetter.owner'),
    kind: 'text',
    description: 'who answers for them. Default the owner',
  },
  {
    ...same('failure.deadLetter.manualReviewRequired'),
    kind: 'flag',
    description: 'nothing is dead-lettered by itself: it is parked, for a person to decide',
  },
  {
    ...same('failure.deadLetter.passingAcceptedBy'),
    kind: 'text',
    description: 'who accepts that later messages go on past a dead letter',
  },
]
