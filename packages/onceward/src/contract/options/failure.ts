import { isRecord, oneOf } from '../check-values.ts'
import { criticalRisks, failureClasses } from '../words.ts'
import { milliseconds, share, wholeNumber } from './amount-kinds.ts'
import { record, section } from './kind.ts'
import { computed, option } from './option.ts'
import { flag, text, texts, word } from './text-kinds.ts'

const delayMaxMs = 2 ** 31 - 1
const delay = milliseconds(0, delayMaxMs)
const pause = milliseconds(1, delayMaxMs)
const attempts = wholeNumber(1, 1_000)
const backoff = { ...flag, inFile: word(['exponential', 'exponential-jitter']).inFile }

/**
 * Attempts, delays and jitter. A policy file sets them under `failure.retry`, with the usual names of
 * operations policies; `policy/retry-import.ts` translates them.
 */
const retryOptions = [
  option('failure', section()),
  option(
    'failure.attemptsMax',
    attempts,
    'attempts of one message before it is set aside, counted in the database',
    {
      default: computed(get => (get('settle.when') === 'before effect' ? 1 : 5)),
      defaultText: '5',
      policyKey: 'failure.retry.maxAttempts',
      elsewhere: 'is set by failure.retry.maxAttempts',
    },
  ),
  option('failure.delayMs', delay, 'delay before the second attempt', {
    default: 1_000,
    policyKey: 'failure.retry.initialDelay',
    elsewhere: 'is set by failure.retry.initialDelay',
  }),
  option('failure.delayMaxMs', delay, 'longest delay; each delay doubles the one before', {
    default: 60_000,
    policyKey: 'failure.retry.maxDelay',
    elsewhere: 'is set by failure.retry.maxDelay',
  }),
  option('failure.jitter', backoff, 'how the delay grows', {
    default: true,
    defaultText: '`exponential-jitter`: random, from zero to the doubled delay',
    policyKey: 'failure.retry.backoff',
    elsewhere: "is set by failure.retry.backoff: 'exponential' or 'exponential-jitter'",
  }),
  option('failure.retry.retryable', texts(), 'error codes that are retried', {
    fileOnly: 'failure.classes',
  }),
  option('failure.retry.nonRetryable', texts(), 'error codes that are not retried', {
    fileOnly: 'failure.classes',
  }),
  option(
    'failure.mode',
    word(['block', 'defer', 'retry queue', 'retry topic']),
    'where a failed message waits for its next attempt',
    { default: 'block', defaultText: '`block`: unacknowledged, and its lane waits' },
  ),
]

/**
 * How failures are classified, and what each class does. `failure-rules.ts` has the defaults of each class.
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
    'attempts for this failure class alone. 1: never retried',
  ),
  option('failure.policies.*.delayMs', delay, 'first delay of the class'),
  option('failure.policies.*.delayMaxMs', delay, 'longest delay of the class'),
  option(
    'failure.policies.*.terminal',
    word(['parked', 'dead-lettered', 'quarantined', 'halted', 'ignored']),
    'final outcome of a message of this class; `ignored` only for business conflicts: they count as done',
  ),
  option('failure.policies.*.breaker', flag, 'whether such failures count towards the breaker'),
  option('failure.poison', section()),
  option(
    'failure.poison.maxAttemptsBeforePark',
    attempts,
    'failures with the same class, code and place after which a message is poison, even with attempts left',
    {
      defaultText:
        'all attempts of its class, if at least 2; never for classes that count towards the breaker',
    },
  ),
]

/** The breaker, and what happens to a message without attempts left. */
const endOptions = [
  option(
    'failure.breaker',
    section('must be an object, or false', { orFalse: true }),
    '`false`: the source is never paused',
  ),
  option(
    'failure.breaker.failuresMax',
    wholeNumber(2, 10_000),
    'consecutive failures, of at least two messages, that pause the source',
    { default: 5 },
  ),
  option('failure.breaker.pauseMs', pause, 'pause before one message is tried', { default: 1_000 }),
  option('failure.breaker.pauseMaxMs', pause, 'longest pause; each pause doubles the one before', {
    default: 60_000,
  }),
  option(
    'failure.brake',
    section('must be an object, or false', { orFalse: true }),
    '`false`: an event type is never paused',
  ),
  option(
    'failure.brake.messagesMin',
    wholeNumber(20, 10_000),
    'messages of one event type, under at least two keys, that fail for one new cause and pause the type',
    {
      default: computed(get => (criticalRisks.has(get('risk')) ? 20 : 50)),
      defaultText: 'by risk: 20 or 50',
    },
  ),
  option('failure.brake.shareMin', share, 'their share of the recent messages of the type', {
    default: computed(get => (criticalRisks.has(get('risk')) ? 0.25 : 0.5)),
    defaultText: 'by risk: 0.25 or 0.5',
  }),
  option('failure.brake.pauseMs', pause, 'pause before one message of the type is tried', { default: 1_000 }),
  option('failure.brake.pauseMaxMs', pause, 'longest pause; each pause doubles the one before', {
    default: 60_000,
  }),
  option('failure.redelivery', section()),
  option(
    'failure.redelivery.countMax',
    wholeNumber(1, 1_000_000),
    'earlier deliveries of a message, as the broker counts them, from which on `action` applies',
    { missing: 'is missing: name the number of deliveries' },
  ),
  option(
    'failure.redelivery.action',
    word(['slowed', 'isolated', 'set aside']),
    'what happens to it: it waits longer with each delivery, is tried in a transaction of its own, or is not tried',
    { default: 'isolated' },
  ),
  option(
    'failure.exhausted',
    word(['parked', 'dead-lettered', 'stop']),
    'what happens to a message without attempts left',
    { default: 'parked' },
  ),
  option('failure.parking', section()),
  option(
    'failure.parking.perKeyMax',
    wholeNumber(1, 100_000_000),
    'messages parked behind the first one of a key',
    { default: 10_000 },
  ),
  option('failure.parking.totalMax', wholeNumber(1, 100_000_000), 'all parked messages of the consumer', {
    default: 1_000_000,
  }),
  option('failure.deadLetter', section('must name a queue, or be an object', { shorthand: 'to' })),
  option(
    'failure.deadLetter.to',
    text('must name a queue'),
    'queue or topic on the same broker that receives a copy of dead letters',
  ),
  option('failure.deadLetter.owner', text('must name a team'), 'the team responsible for dead letters', {
    default: computed(get => get('owner')),
    defaultText: 'the owner',
  }),
  option(
    'failure.deadLetter.manualReviewRequired',
    flag,
    'a message that would be dead-lettered is parked instead, and an operator decides',
  ),
  option(
    'failure.deadLetter.passingAcceptedBy',
    text('must name who accepts it on the business side'),
    'who accepts that later messages pass a dead letter',
  ),
]

export const failureOptions = [...retryOptions, ...classOptions, ...endOptions]
