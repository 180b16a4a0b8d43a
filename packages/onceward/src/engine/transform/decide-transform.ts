import type { FailureRules } from '../../contract/failure-rules.ts'
import { type AttemptFacts, decideOutcome } from '../batch/decide-outcome.ts'
import type { Decision, Fact, Outcome } from '../batch/outcome.ts'

const setAside: ReadonlySet<Outcome> = new Set(['parked', 'dead-lettered', 'quarantined', 'waiting'])

/**
 * The decision of a consumer, for a transform: it has no parking lot, so what a consumer would park is
 * dead-lettered. Without a dead-letter topic it halts instead. Pure.
 */
export function decideTransform(fact: Fact, attempt: AttemptFacts, failure: FailureRules): Decision {
  const decision = decideOutcome(fact, attempt, failure)
  if (!setAside.has(decision.outcome)) return decision
  if (failure.deadLetter === null) return { ...decision, outcome: 'halted', status: null, waits: null }
  if (decision.outcome === 'quarantined') return decision
  return { ...decision, outcome: 'dead-lettered', status: 'dead', waits: null }
}

/**
 * True when the first failure ends the record without a pause or a halt: the records after it can be part of
 * the same transaction.
 */
export function endsAtOnce(fact: Fact, failure: FailureRules): boolean {
  if (failure.deadLetter === null) return false
  if (fact.kind === 'unreadable') return fact.problem.kind !== 'registry unavailable'
  if (fact.kind === 'handled') return true
  if (fact.kind === 'verdict') return fact.verdict.kind !== 'retry'
  if (fact.kind !== 'failed' || fact.failure.databaseWide !== undefined) return false
  if (failure.exhausted === 'stop') return false
  const { attemptsMax, breaker, terminal } = failure.rules[fact.failure.class]
  return attemptsMax === 1 && !breaker && terminal !== 'halted'
}
