import type { ClassRules, FailureRules, PolicyClass, Terminal } from '../../contract/failure-rules.ts'
import type { ProblemKind } from '../../message/received.ts'
import { byBroker } from '../../ports/retry-levels.ts'
import type { MarkerStatus } from '../../ports/store.ts'
import { processDied } from '../../ports/suspects.ts'
import { retryDelayMs } from '../retry/retry-delay.ts'
import { type Decision, type Fact, type Failure, givenUpCode, type Outcome } from './outcome.ts'
import type { Verdict } from './verdicts.ts'

export type FailurePolicy = Pick<
  FailureRules,
  | 'mode'
  | 'retryLevelsMs'
  | 'exhausted'
  | 'jitter'
  | 'rules'
  | 'sameMax'
  | 'unreadable'
  | 'unexpected'
  | 'rejected'
>

/** The earlier attempts of a message, including this one if it was counted. */
export interface AttemptFacts {
  readonly total: number
  readonly byClass: Readonly<Record<string, number>>
  /** How many of them failed in the same way. */
  readonly same: number
  /** In [0, 1), for the jitter. */
  readonly random: number
  /**
   * Set while a dependency is unavailable: the shortest wait. Such failures say nothing about the message.
   * Null otherwise.
   */
  readonly outageMs: number | null
}

/** Pure, and the only place that decides. */
export function decideOutcome(fact: Fact, attempt: AttemptFacts, policy: FailurePolicy): Decision {
  switch (fact.kind) {
    case 'handled':
      return appliedDecision
    case 'kept':
      return storedDecision
    case 'unreadable':
      if (fact.problem.earlier !== undefined) return killed(fact.problem.earlier, policy)
      return unreadable(fact.problem.kind, fact.problem.text, policy)
    case 'seen':
      if (!fact.sameDigest) return conflict('same id, other content')
      if (isHeld(fact.status)) return decision('already held', 'held since an earlier delivery')
      return decision('duplicate', `already ${fact.status}`)
    case 'business seen':
      if (!fact.sameDigest) return conflict(`same business key as ${fact.byId}, other content`)
      return { ...decision('duplicate', `same business key as ${fact.byId}`), status: 'duplicate' }
    case 'key held':
      return behindKey(fact)
    case 'given up':
      return { ...decision('duplicate', fact.reason), code: givenUpCode }
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
export function countsAsAttempt(
  fact: Fact,
  { rules }: Pick<FailurePolicy, 'rules'>,
  outageMs: number | null = null,
): boolean {
  if (fact.kind === 'verdict') return fact.verdict.kind === 'retry'
  if (fact.kind !== 'failed') return false
  const { attemptsMax, terminal, breaker } = rules[fact.failure.class]
  if (outageMs !== null && breaker) return false
  return attemptsMax > 1 || terminal === 'parked'
}

/** For messages without earlier attempts. */
export const noAttempts: AttemptFacts = { total: 0, byClass: {}, same: 0, random: 0, outageMs: null }

/** Shared by all messages that are simply applied. */
export const appliedDecision: Decision = decision('applied', '')
export const storedDecision: Decision = { ...decision('stored', ''), status: 'stored' }

function unreadable(kind: ProblemKind, text: string, policy: FailurePolicy): Decision {
  const code = kind.replaceAll(' ', '_')
  if (kind === 'invalid') {
    const details = { failureClass: 'validation', code }
    return ended(policy.rules.validation.terminal, text, details, policy)
  }
  const unexpected = kind === 'unknown type' || kind === 'unsupported version'
  const details = { failureClass: 'poison', code }
  return ended(unexpected ? policy.unexpected : policy.unreadable, text, details, policy)
}

function conflict(reason: string): Decision {
  return {
    ...decision('quarantined', reason),
    status: 'quarantined',
    failureClass: 'corruption',
    code: 'conflict',
  }
}

/** Durable in the store, and unfinished. */
function isHeld(status: MarkerStatus): boolean {
  return status === 'parked' || status === 'waiting' || status === 'stored'
}

function ofVerdict(verdict: Verdict, attempt: AttemptFacts, policy: FailurePolicy): Decision {
  const said = { failureClass: 'verdict', code: verdict.code, error: null, attempts: attempt.total }
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
      return ended('parked', verdict.reason, said, policy)
    case 'reject':
      return ended('dead-lettered', verdict.reason, said, policy)
    case 'retry':
      if (
        policy.exhausted === 'set aside' &&
        spent('verdict', attempt, policy) >= policy.rules.verdict.attemptsMax
      )
        return ended('parked', `attempts exhausted: ${verdict.reason}`, said, policy)
      return { ...again(verdict.reason, verdict.delayMs ?? 0, policy), ...said }
  }
}

function ofFailure(failure: Failure, attempt: AttemptFacts, policy: FailurePolicy): Decision {
  const rules = policy.rules[failure.class]
  const { code, error, place } = failure
  const details = { failureClass: failure.class, code, error, place, attempts: attempt.total }
  if (attempt.outageMs !== null && rules.breaker) {
    const outage = { outage: true, retryDelayMs: attempt.outageMs }
    return { ...decision('retry', `a dependency is unavailable: ${error}`), ...details, ...outage }
  }
  const attempts = spent(failure.class, attempt, policy)
  const delayMs = retryDelayMs({ attempts, random: attempt.random }, { ...rules, jitter: policy.jitter })
  if (policy.exhausted === 'stop' && rules.terminal !== 'halted')
    return { ...again(error, delayMs, policy), ...details }
  if (attempts >= rules.attemptsMax) return ended(rules.terminal, error, details, policy)
  if (policy.sameMax !== null && attempt.same >= policy.sameMax) {
    const reason = `failed ${attempt.same} times in the same way: ${error}`
    return ended(endOfPoison(rules), reason, { ...details, failureClass: 'poison' }, policy)
  }
  return { ...again(error, delayMs, policy), ...details }
}

/**
 * Attempts counted against the budget of this class: its own, or the shared one. An uncounted failure is the
 * first.
 */
function spent(of: PolicyClass, { byClass }: AttemptFacts, { rules }: FailurePolicy): number {
  if (rules[of].ownBudget) return Math.max(1, byClass[of] ?? 0)
  let sum = 0
  for (const [name, count] of Object.entries(byClass)) {
    if (rules[name as PolicyClass]?.ownBudget !== true) sum += count
  }
  return Math.max(1, sum)
}

/** One message that keeps failing in the same way is no reason to halt the consumer. */
function endOfPoison({ terminal }: ClassRules): Terminal {
  return terminal === 'halted' ? 'parked' : terminal
}

function again(reason: string, delayMs: number, { mode, retryLevelsMs }: FailurePolicy): Decision {
  const levelMs = byBroker(mode) ? retryLevelsMs.find(level => level >= delayMs) : undefined
  if (levelMs !== undefined) return { ...decision('rerouted', reason), retryDelayMs: levelMs }
  if (mode !== 'defer') return { ...decision('retry', reason), retryDelayMs: delayMs }
  return { ...decision('deferred', reason), status: 'stored', retryDelayMs: delayMs }
}

function ended(
  terminal: Terminal,
  reason: string,
  details: Partial<Decision>,
  { rejected }: FailurePolicy,
): Decision {
  switch (terminal) {
    case 'halted':
      return { ...decision('halted', reason), ...details }
    case 'quarantined':
      return { ...decision('quarantined', reason), ...details, status: 'quarantined' }
    case 'parked':
      return { ...decision('parked', reason), ...details, status: 'parked' }
    case 'dead-lettered':
      return rejected === 'parked'
        ? { ...decision('parked', reason), ...details, status: 'parked' }
        : { ...decision('dead-lettered', reason), ...details, status: 'dead' }
  }
}

/** Another try would crash the next process: if its lane must wait, the message waits without being tried. */
function killed({ deaths, attempts }: { deaths: number; attempts: number }, policy: FailurePolicy): Decision {
  const reason = `its process crashed ${deaths} time${deaths === 1 ? '' : 's'}`
  const details = { failureClass: 'poison', code: processDied, error: reason, attempts }
  if (policy.exhausted === 'stop')
    return { ...decision('retry', reason), ...details, retryDelayMs: policy.rules.poison.delayMaxMs }
  return { ...decision('parked', reason), ...details, status: 'parked' }
}

function behind(leader: 'retry' | 'deferred' | 'parked' | 'gone', delayMs: number): Decision {
  if (leader === 'parked') {
    const waiting = { failureClass: 'order', code: 'behind_parked', status: 'parked' as const }
    return { ...decision('parked', 'an earlier message of its key is parked'), ...waiting }
  }
  if (leader === 'deferred') {
    const waiting = { failureClass: 'order', code: 'behind_deferred', status: 'stored' as const }
    return {
      ...decision('deferred', 'an earlier message of its key is deferred'),
      ...waiting,
      retryDelayMs: delayMs,
    }
  }
  return {
    ...decision('retry', 'waits for an earlier message'),
    retryDelayMs: leader === 'gone' ? 0 : delayMs,
  }
}

/**
 * The message gets the key if the holder ends without an effect; otherwise it is a duplicate or a conflict.
 */
function behindKey({ byId, as, delayMs, inTurn }: Extract<Fact, { kind: 'key held' }>): Decision {
  const reason = `waits for its business key, which message ${byId} holds`
  const waiting = { failureClass: 'order', code: 'behind_business_key', outOfTurn: !inTurn }
  if (as === 'parked') return { ...decision('parked', reason), ...waiting, status: 'parked' }
  const status = as === 'deferred' ? ('stored' as const) : null
  return { ...decision(as, reason), ...waiting, status, retryDelayMs: delayMs }
}

function decision(outcome: Outcome, reason: string): Decision {
  return {
    outcome,
    reason,
    status: null,
    failureClass: '',
    code: '',
    error: null,
    place: '',
    retryDelayMs: 0,
    attempts: 0,
    waits: null,
    blocksKey: false,
    outOfTurn: false,
    outage: false,
  }
}
