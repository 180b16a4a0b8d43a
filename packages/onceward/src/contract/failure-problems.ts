import { byBroker } from '../contracts/retry-levels.ts'
import { isRecord, oneOf, type Report, unknownKeys, wholeNumber } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'
import { isGrave } from './failure-rules.ts'
import type { FailureSection } from './failure-section.ts'
import { failureClasses } from './known-names.ts'
import { parkingProblems } from './parking-problems.ts'
import { brokerRetryProblems } from './retry-problems.ts'

const delayMaxMs = 2 ** 31 - 1

/** What the contract says about failing, and what does not go together with it. */
export function failureProblems(contract: ConsumerContract, wrong: Report): void {
  const { failure } = contract
  if (failure === undefined) return passingProblems(contract, {}, wrong)
  if (!isRecord(failure)) return wrong('failure', 'must be an object')
  unknownKeys(failure, 'failure', 'failure.', wrong)
  parkingProblems(failure.parking, wrong)
  wholeNumber(failure.attemptsMax, 'failure.attemptsMax', 1, 1_000, wrong)
  wholeNumber(failure.delayMs, 'failure.delayMs', 0, delayMaxMs, wrong)
  wholeNumber(failure.delayMaxMs, 'failure.delayMaxMs', 0, delayMaxMs, wrong)
  flag(failure.jitter, 'failure.jitter', wrong)
  modeProblems(contract, wrong)
  classProblems(failure, wrong)
  exhaustedProblems(contract, wrong)
  pauseProblems(failure, wrong)
  deadLetterProblems(failure, wrong)
  passingProblems(contract, failure, wrong)
}

function modeProblems(contract: ConsumerContract, wrong: Report): void {
  const mode = String(contract.failure!.mode ?? 'block')
  oneOf(mode, ['block', 'defer', 'retry queue', 'retry topic'], 'failure.mode', wrong)
  if (byBroker(mode)) return brokerRetryProblems(contract, mode, wrong)
  if (mode !== 'defer') return
  if (contract.order === 'partition')
    wrong(
      'failure.mode',
      "'defer' lets others pass, and order 'partition' lets nobody pass: use order 'key', or mode 'block'",
    )
  if (contract.dedup !== undefined && contract.dedup !== 'marker')
    wrong(
      'failure.mode',
      "'defer' needs dedup 'marker': only a marker can tell what is deferred from what is done",
    )
  if (contract.settle?.when === 'before effect')
    wrong('failure.mode', "'defer' keeps what settle.when 'before effect' gives up: leave one of the two out")
}

function classProblems(failure: FailureSection, wrong: Report): void {
  const { classes = {}, policies = {}, poison } = failure
  if (!isRecord(classes)) return wrong('failure.classes', 'must be an object')
  if (!isRecord(policies)) return wrong('failure.policies', 'must be an object')
  for (const [code, failureClass] of Object.entries(classes))
    oneOf(failureClass, failureClasses, `failure.classes.${code}`, wrong)
  for (const [name, policy] of Object.entries(policies)) {
    const place = `failure.policies.${name}`
    oneOf(name, failureClasses, place, wrong)
    if (!isRecord(policy)) {
      wrong(place, 'must be an object')
      continue
    }
    unknownKeys(policy, 'failure.policies', `${place}.`, wrong)
    wholeNumber(policy.attemptsMax, `${place}.attemptsMax`, 1, 1_000, wrong)
    wholeNumber(policy.delayMs, `${place}.delayMs`, 0, delayMaxMs, wrong)
    wholeNumber(policy.delayMaxMs, `${place}.delayMaxMs`, 0, delayMaxMs, wrong)
    flag(policy.breaker, `${place}.breaker`, wrong)
    if (policy.terminal !== undefined)
      oneOf(policy.terminal, ['parked', 'dead-lettered', 'quarantined', 'halted'], `${place}.terminal`, wrong)
  }
  if (poison === undefined) return
  if (!isRecord(poison)) return wrong('failure.poison', 'must be an object')
  unknownKeys(poison, 'failure.poison', 'failure.poison.', wrong)
  wholeNumber(poison.maxAttemptsBeforePark, 'failure.poison.maxAttemptsBeforePark', 1, 1_000, wrong)
}

function exhaustedProblems(contract: ConsumerContract, wrong: Report): void {
  const { exhausted } = contract.failure!
  if (exhausted === undefined) return
  oneOf(exhausted, ['set aside', 'stop'], 'failure.exhausted', wrong)
  if (exhausted === 'stop' && (contract.order ?? 'none') === 'none')
    wrong(
      'failure.exhausted',
      "'stop' holds a lane, and order 'none' has none: use order 'key' or 'partition'",
    )
}

function pauseProblems({ breaker }: FailureSection, wrong: Report): void {
  if (breaker === undefined || breaker === false) return
  if (!isRecord(breaker)) return wrong('failure.breaker', 'must be an object, or false')
  unknownKeys(breaker, 'failure.breaker', 'failure.breaker.', wrong)
  wholeNumber(breaker.failuresMax, 'failure.breaker.failuresMax', 2, 10_000, wrong)
  wholeNumber(breaker.pauseMs, 'failure.breaker.pauseMs', 1, delayMaxMs, wrong)
  wholeNumber(breaker.pauseMaxMs, 'failure.breaker.pauseMaxMs', 1, delayMaxMs, wrong)
}

function deadLetterProblems({ deadLetter }: FailureSection, wrong: Report): void {
  if (deadLetter === undefined) return
  if (typeof deadLetter === 'string') return named(deadLetter, 'failure.deadLetter', 'a queue', wrong)
  if (!isRecord(deadLetter)) return wrong('failure.deadLetter', 'must name a queue, or be an object')
  unknownKeys(deadLetter, 'failure.deadLetter', 'failure.deadLetter.', wrong)
  named(deadLetter.to, 'failure.deadLetter.to', 'a queue', wrong)
  named(deadLetter.owner, 'failure.deadLetter.owner', 'a team', wrong)
  named(
    deadLetter.passingAcceptedBy,
    'failure.deadLetter.passingAcceptedBy',
    'who accepts it on the business side',
    wrong,
  )
  flag(deadLetter.manualReviewRequired, 'failure.deadLetter.manualReviewRequired', wrong)
}

/** A partition cannot wait behind what is set aside, so somebody must have said that it need not. */
function passingProblems(contract: ConsumerContract, failure: FailureSection, wrong: Report): void {
  if (contract.order !== 'partition' || !isGrave(contract.risk) || failure.exhausted === 'stop') return
  if (contract.settle?.when === 'before effect') return
  const { deadLetter } = failure
  if (typeof deadLetter === 'object' && deadLetter.passingAcceptedBy !== undefined) return
  wrong(
    'failure.deadLetter.passingAcceptedBy',
    `must say who accepts that a partition goes on past a message that was set aside: risk '${contract.risk}' with order 'partition' needs it, or failure.exhausted 'stop'`,
  )
}

function named(value: unknown, place: string, what: string, wrong: Report): void {
  if (value !== undefined && (typeof value !== 'string' || value.trim() === ''))
    wrong(place, `must name ${what}`)
}

function flag(value: unknown, place: string, wrong: Report): void {
  if (value !== undefined && typeof value !== 'boolean') wrong(place, 'must be true or false')
}
