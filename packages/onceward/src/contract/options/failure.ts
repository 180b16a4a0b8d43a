import { isRecord, oneOf } from '../check-values.ts'
import { failureClasses } from '../words.ts'
import { milliseconds, wholeNumber } from './amount-kinds.ts'
import { record, section } from './kind.ts'
import { computed, option } from './option.ts'
import { flag, text, texts, word } from './text-kinds.ts'

const delayMaxMs = 2 ** 31 - 1
const delay = milliseconds(0, delayMaxMs)
const pause = milliseconds(1, delayMaxMs)
const attempts = wholeNumber(1, 1_000)
const backoff = { ...flag, inFile: word(['exponential', 'exponential-jitter']).inFile }

/**
 * Attempts, delays and jitter. A policy file says them by `failure.retry`, in the words operations policies
 * are written in: see `policy/retry-import.ts`.
 */
const retryOptions = [
  option('failure', section()),
  option(
    'failure.attemptsMax',
    attempts,
    'attempts of one message, counted durably, before it is set aside',
    {
      default: computed(get => (get('settle.when') === 'before effect' ? 1 : 5)),
      defaultText: '5',
      policyKey: 'failure.retry.maxAttempts',
      elsewhere: 'is said by failure.retry.maxAttempts',
    },
  ),
  option('failure.delayMs', delay, 'before the second attempt', {
    default: 1_000,
    policyKey: 'failure.retry.initialDelay',
    elsewhere: 'is said by failure.retry.initialDelay',
  }),
  option('failure.delayMaxMs', delay, 'doubled up to here', {
    default: 60_000,
    policyKey: 'failure.retry.maxDelay',
    elsewhere: 'is said by failure.retry.maxDelay',
  }),
  option('failure.jitter', backoff, 'how the delay grows', {
    default: true,
    defaultText: '`exponential-jitter`: anything from zero to it',
    policyKey: 'failure.retry.backoff',
    elsewhere: "is said by failure.retry.backoff: 'exponential' or 'exponential-jitter'",
  }),
  option('failure.retry.retryable', texts(), 'error codes that are tried again', {
    fileOnly: 'failure.classes',
  }),
  option('failure.retry.nonRetryable', texts(), 'error codes that are not', { fileOnly: 'failure.classes' }),
  option(
    'failure.mode',
    word(['block', 'defer', 'retry queue', 'retry topic']),
    'where a message waits for its next try',
    { default: 'block', defaultText: '`block`: unsettled, its lane behind it' },
  ),
]

/**
 * What a failure is, and what its class does. The defaults of a class are in `failure-rules.ts`: each class
 * has its own.
 */
const classOptions = [
  option('failure.classes', record('must be an object', isRecord)),
  option(
    'failure.classes.*',
    word(failureClasses),
    'error code, class name, SQLSTATE or HTTP status → failure class',
  ),
  option(
    'failure.policies',
    record('must be an object', isRecord, (name, place, wrong) => oneOf(name, failureClasses, place, wrong)),
  ),
  option('failure.policies.*', section()),
  option(
    'failure.policies.*.attemptsMax',
    attempts,
    'a budget of its own for a failure class. 1: never tried again',
  ),
  option('failure.policies.*.delayMs', delay, 'its first delay'),
  option('failure.policies.*.delayMaxMs', delay, 'its longest'),
  option(
    'failure.policies.*.terminal',
    word(['parked', 'dead-lettered', 'quarantined', 'halted']),
    'where a message of this class ends',
  ),
  option('failure.policies.*.breaker', flag, 'whether such failures say that the downstream is away'),
  option('failure.poison', section()),
  option(
    'failure.poison.maxAttemptsBeforePark',
    attempts,
    'the same class, code and place this often: parked, whatever attempts are left',
  ),
]

/** What happens around a message that does not get through. */
const endOptions = [
  option(
    'failure.breaker',
    section('must be an object, or false', { orFalse: true }),
    '`false`: never pauses the source',
  ),
  option(
    'failure.breaker.failuresMax',
    wholeNumber(2, 10_000),
    'failures in a row, of two messages at least, that pause the source',
    { default: 5 },
  ),
  option('failure.breaker.pauseMs', pause, 'until one message is tried', { default: 1_000 }),
  option('failure.breaker.pauseMaxMs', pause, 'doubled up to here', { default: 60_000 }),
  option(
    'failure.exhausted',
    word(['set aside', 'stop']),
    'what becomes of a message without attempts left',
    { default: 'set aside' },
  ),
  option('failure.parking', section()),
  option(
    'failure.parking.perKeyMax',
    wholeNumber(1, 100_000_000),
    'messages behind the parked head of one key',
    { default: 10_000 },
  ),
  option('failure.parking.totalMax', wholeNumber(1, 100_000_000), 'parked messages in all', {
    default: 1_000_000,
  }),
  option('failure.deadLetter', section('must name a queue, or be an object', { shorthand: 'to' })),
  option(
    'failure.deadLetter.to',
    text('must name a queue'),
    'queue or topic on the same broker that gets a copy of dead letters',
  ),
  option('failure.deadLetter.owner', text('must name a team'), 'who answers for them', {
    default: computed(get => get('owner')),
    defaultText: 'the owner',
  }),
  option(
    'failure.deadLetter.manualReviewRequired',
    flag,
    'nothing is dead-lettered by itself: it is parked, for a person to decide',
  ),
  option(
    'failure.deadLetter.passingAcceptedBy',
    text('must name who accepts it on the business side'),
    'who accepts that later messages go on past a dead letter',
  ),
]

export const failureOptions = [...retryOptions, ...classOptions, ...endOptions]
