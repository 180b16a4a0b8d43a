import type { MarkerStatus } from '../contracts/store.ts'
import { processDied } from '../contracts/suspects.ts'
import type { Decision, Fact, Failure, Outcome } from './outcome.ts'
import { retryDelayMs } from './retry-delay.ts'
import type { Verdict } from './verdicts.ts'

export interface FailurePolicy {
  readonly attemptsMax: number
  readonly delayMs: number
  readonly delayMaxMs: number
  readonly exhausted: 'set aside' | 'stop'
}

/** Attempts so far, this one included, and a number in [0, 1) for the jitter. */
export interface AttemptFacts {
  readonly attempts: number
  readonly random: number
}

/** Pure, and the only place that decides. */
export function decideOutcome(fact: Fact, attempt: AttemptFacts, policy: FailurePolicy): Decision {
  switch (fact.kind) {
    case 'handled':
      return appliedDecision
    case 'kept':
      return storedDecision
    case 'unreadable':
      return unreadable(fact.problem.kind, fact.problem.text)
    case 'seen':
      if (!fact.sameDigest) return conflict('same id, other content')
      if (isHeld(fact.status)) return decision('already held', 'held here since an earlier delivery')
      return decision('duplicate', `already ${fact.status}`)
    case 'business seen':
      if (!fact.sameDigest) return conflict(`same business key as ${fact.byId}, other content`)
      return { ...decision('duplicate', `same business key as ${fact.byId}`), status: 'duplicate' }
    case 'verdict':
      return ofVerdict(fact.verdict, attempt, policy)
    case 'failed':
      return ofFailure(fact.failure, attempt, policy)
    case 'killed':
      return killed(fact, policy)
    case 'behind':
      return behind(fact.leader, fact.delayMs)
  }
}

/** True when the attempt must be counted before deciding. */
export function countsAsAttempt(fact: Fact): boolean {
  if (fact.kind === 'verdict') return fact.verdict.kind === 'retry'
  return fact.kind === 'failed' && terminalPlace(fact.failure) === 'parked'
}

/** Shared by every message that simply got through. */
export const appliedDecision: Decision = decision('applied', '')
export const storedDecision: Decision = { ...decision('stored', ''), status: 'stored' }

function unreadable(kind: string, text: string): Decision {
  const code = kind.replaceAll(' ', '_')
  if (kind === 'invalid') {
    return { ...decision('dead-lettered', text), status: 'dead', failureClass: 'validation', code }
  }
  return { ...decision('quarantined', text), status: 'quarantined', failureClass: 'poison', code }
}

function conflict(reason: string): Decision {
  return {
    ...decision('quarantined', reason),
    status: 'quarantined',
    failureClass: 'corruption',
    code: 'conflict',
  }
}

/** Durable with us and not done. */
function isHeld(status: MarkerStatus): boolean {
  return status === 'parked' || status === 'waiting' || status === 'stored'
}

function ofVerdict(verdict: Verdict, attempt: AttemptFacts, policy: FailurePolicy): Decision {
  const said = { failureClass: 'verdict', code: verdict.code, error: null, attempts: attempt.attempts }
  switch (verdict.kind) {
    case 'ignore':
      return { ...decision('ignored', verdict.reason), code: verdict.code, status: 'ignored' }
    case 'applied':
      return { ...decision('applied', verdict.reason), code: verdict.code }
    case 'duplicate':
      return { ...decision('duplicate', verdict.reason), code: verdict.code, status: 'duplicate' }
    case 'stale':
      return { ...decision('stale', verdict.reason), code: verdict.code, status: 'stale' }
    case 'wait':
      return { ...decision('waiting', verdict.reason), ...said, status: 'waiting', waits: verdict.waits }
    case 'quarantine':
      return {
        ...decision('quarantined', verdict.reason),
        ...said,
        status: 'quarantined',
        blocksKey: verdict.blocksKey,
      }
    case 'park':
      return { ...decision('parked', verdict.reason), ...said, status: 'parked' }
    case 'reject':
      return { ...decision('dead-lettered', verdict.reason), ...said, status: 'dead' }
    case 'retry':
      if (attempt.attempts >= policy.attemptsMax && policy.exhausted === 'set aside') {
        return { ...decision('parked', `attempts exhausted: ${verdict.reason}`), ...said, status: 'parked' }
      }
      return { ...decision('retry', verdict.reason), ...said, retryDelayMs: verdict.delayMs ?? 0 }
  }
}

function ofFailure(failure: Failure, attempt: AttemptFacts, policy: FailurePolicy): Decision {
  const met = {
    failureClass: failure.class,
    code: failure.code,
    error: failure.error,
    attempts: attempt.attempts,
  }
  const place = terminalPlace(failure)
  const again = { ...decision('retry', failure.error), ...met, retryDelayMs: retryDelayMs(attempt, policy) }
  if (policy.exhausted === 'stop' && place !== 'halted') return again
  switch (place) {
    case 'halted':
      return { ...decision('halted', failure.error), ...met }
    case 'dead':
      return { ...decision('dead-lettered', failure.error), ...met, status: 'dead' }
    case 'quarantined':
      return { ...decision('quarantined', failure.error), ...met, status: 'quarantined' }
    case 'parked':
      if (attempt.attempts >= policy.attemptsMax || !retryable(failure)) {
        return { ...decision('parked', failure.error), ...met, status: 'parked' }
      }
      return again
  }
}

/** Tried again it would kill the next process: where its lane must wait, it waits untried. */
function killed({ deaths, attempts }: { deaths: number; attempts: number }, policy: FailurePolicy): Decision {
  const reason = `its process died ${deaths} time${deaths === 1 ? '' : 's'}`
  const met = { failureClass: 'poison', code: processDied, error: reason, attempts }
  if (policy.exhausted === 'stop')
    return { ...decision('retry', reason), ...met, retryDelayMs: policy.delayMaxMs }
  return { ...decision('parked', reason), ...met, status: 'parked' }
}

/** Where a message of this failure class ends when nothing brings it through. */
function terminalPlace(failure: Failure): 'parked' | 'dead' | 'quarantined' | 'halted' {
  switch (failure.class) {
    case 'configuration':
      return 'halted'
    case 'validation':
      return 'dead'
    case 'corruption':
      return 'quarantined'
    default:
      return 'parked'
  }
}

function retryable(failure: Failure): boolean {
  return failure.class !== 'business conflict' && failure.class !== 'poison'
}

function behind(leader: 'retry' | 'parked' | 'gone', delayMs: number): Decision {
  if (leader === 'parked') {
    const waiting = { failureClass: 'order', code: 'behind_parked', status: 'parked' as const }
    return { ...decision('parked', 'an earlier message of its key is parked'), ...waiting }
  }
  return {
    ...decision('retry', 'waits for an earlier message'),
    retryDelayMs: leader === 'gone' ? 0 : delayMs,
  }
}

function decision(outcome: Outcome, reason: string): Decision {
  return {
    outcome,
    reason,
    status: null,
    failureClass: '',
    code: '',
    error: null,
    retryDelayMs: 0,
    attempts: 0,
    waits: null,
    blocksKey: false,
  }
}
