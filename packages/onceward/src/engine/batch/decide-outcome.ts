import type { ClassRules, FailureRules, PolicyClass, Terminal } from '../../contract/failure-rules.ts'
import type { Problem } from '../../message/received.ts'
import type { MarkerStatus } from '../../ports/markers.ts'
import { byBroker } from '../../ports/retry-levels.ts'
import { processDied } from '../../ports/suspects.ts'
import { haltingCodes } from '../retry/known-failures.ts'
import { retryDelayMs } from '../retry/retry-delay.ts'
import {
  behindBusinessKey,
  brakedCode,
  type Decision,
  exhaustedVerdict,
  type Fact,
  type Failure,
  givenUpCode,
  type Outcome,
  redeliveredCode,
} from './outcome.ts'
import type { Verdict } from './verdicts.ts'

export type FailurePolicy = Pick<
  FailureRules,
  'mode' | 'retryLevelsMs' | 'exhausted' | 'jitter' | 'rules' | 'unreadable' | 'unexpected' | 'rejected'
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
   * Set while a dependency is unavailable, and if the message failed because of the database as a whole: the
   * shortest wait. Such failures say nothing about the message. Null otherwise.
   */
  readonly outageMs: number | null
  /** Set if its event type is or becomes paused: the wait. Such a failure sets nothing aside. */
  readonly brakedMs: number | null
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
      return unreadable(fact.problem, attempt, policy)
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
    case 'braked': {
      const reason = `${pausedType}: ${fact.cause}`
      return { ...held(reason, fact.delayMs, policy), failureClass: 'brake', code: brakedCode }
    }
    case 'redelivered':
      return redelivered(fact, attempt, policy)
    case 'behind':
      return behind(fact.leader, fact.delayMs)
  }
}

const triedInVain: ReadonlySet<Verdict['kind']> = new Set(['retry', 'park', 'reject', 'quarantine'])
const uncounted: ReadonlySet<Terminal> = new Set(['halted', 'ignored'])

/**
 * True when the attempt must be counted before deciding: a message was read or handled and is retried or set
 * aside. A halt settles nothing, and an ignored failure counts as success.
 */
export function countsAsAttempt(
  fact: Fact,
  { rules }: Pick<FailurePolicy, 'rules'>,
  outageMs: number | null = null,
): boolean {
  if (fact.kind === 'verdict') return triedInVain.has(fact.verdict.kind)
  if (fact.kind === 'unreadable')
    return fact.problem.earlier === undefined && fact.problem.kind !== 'registry unavailable'
  if (fact.kind === 'redelivered') return fact.delayMs === null
  if (fact.kind !== 'failed') return false
  const { attemptsMax, terminal, breaker } = rules[fact.failure.class]
  const ofOthers = breaker || fact.failure.databaseWide !== undefined
  if ((outageMs !== null && ofOthers) || haltsAlways(fact.failure)) return false
  return attemptsMax > 1 || !uncounted.has(terminal)
}

/** For messages without earlier attempts. */
export const noAttempts: AttemptFacts = {
  total: 0,
  byClass: {},
  same: 0,
  random: 0,
  outageMs: null,
  brakedMs: null,
}

/** Shared by all messages that are simply applied. */
export const appliedDecision: Decision = decision('applied', '')
export const storedDecision: Decision = { ...decision('stored', ''), status: 'stored' }

/** The pause of a transform whose registry is unavailable; a consumer waits before its batch. */
const registryPauseMs = 1_000

/** Without an id its attempts cannot be counted: it was tried at least once. */
function unreadable({ kind, text }: Problem, { total }: AttemptFacts, policy: FailurePolicy): Decision {
  const code = kind.replaceAll(' ', '_')
  if (kind === 'registry unavailable') {
    const outage = { failureClass: 'transient', code, outage: true, retryDelayMs: registryPauseMs }
    return { ...decision('retry', text), ...outage }
  }
  const failureClass = kind === 'invalid' ? 'validation' : 'poison'
  const details = { failureClass, code, attempts: Math.max(1, total) }
  // Parked under every policy, because its schema may become known.
  if (kind === 'unknown schema') return ended('parked', text, details, policy)
  if (kind === 'invalid') return ended(policy.rules.validation.terminal, text, details, policy)
  const unexpected = kind === 'unknown type' || kind === 'unsupported version'
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
        policy.exhausted !== 'stop' &&
        spent('verdict', attempt, policy) >= policy.rules.verdict.attemptsMax
      ) {
        const reason = `attempts exhausted: ${verdict.reason}`
        const details = { ...said, failureClass: exhaustedVerdict, exhausted: exhaustedVerdict }
        return ended(policy.rules.verdict.terminal, reason, details, policy)
      }
      return { ...again(verdict.reason, verdict.delayMs ?? 0, policy), ...said }
  }
}

function ofFailure(failure: Failure, attempt: AttemptFacts, policy: FailurePolicy): Decision {
  const rules = policy.rules[failure.class]
  const { code, error, exception, place } = failure
  const details = { failureClass: failure.class, code, error, exception, place, attempts: attempt.total }
  if (haltsAlways(failure)) return ended('halted', error, details, policy)
  if (attempt.outageMs !== null && (rules.breaker || failure.databaseWide !== undefined)) {
    const outage = { outage: true, retryDelayMs: attempt.outageMs }
    return { ...decision('retry', `a dependency is unavailable: ${error}`), ...details, ...outage }
  }
  if (attempt.brakedMs !== null)
    return { ...held(`${pausedType}: ${error}`, attempt.brakedMs, policy), ...details, braked: true }
  const attempts = spent(failure.class, attempt, policy)
  const delayMs = retryDelayMs({ attempts, random: attempt.random }, { ...rules, jitter: policy.jitter })
  if (policy.exhausted === 'stop' && !uncounted.has(rules.terminal))
    return { ...again(error, delayMs, policy), ...details }
  const over = attempts >= rules.attemptsMax
  const exhausted = over && rules.retried ? failure.class : null
  if (rules.sameMax !== null && attempt.same >= rules.sameMax) {
    const reason = `failed ${attempt.same} times in the same way: ${error}`
    return ended(endOfPoison(rules), reason, { ...details, failureClass: 'poison', exhausted }, policy)
  }
  if (over) return ended(rules.terminal, error, { ...details, exhausted }, policy)
  return { ...again(error, delayMs, policy), ...details }
}

const pausedType = 'its event type is paused, because most of its messages fail'

/** Without an attempt; a copy at the broker would return to the same pause, so it waits in the process. */
function held(reason: string, delayMs: number, policy: FailurePolicy): Decision {
  return again(reason, delayMs, byBroker(policy.mode) ? { ...policy, mode: 'block' } : policy)
}

function haltsAlways({ class: failureClass, code }: Failure): boolean {
  return failureClass === 'configuration' && haltingCodes.has(code)
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
    case 'ignored': {
      const { failureClass = '', code = '' } = details
      const because = `${failureClass}, which the contract takes for a success: ${reason}`
      return { ...decision('ignored', because), failureClass, code, status: 'ignored' }
    }
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
  return ended(policy.exhausted, reason, { ...details, exhausted: 'poison' }, policy)
}

/** Its latest delivery ended without an outcome, as its earlier ones did: that is a failed attempt. */
function redelivered(
  { count, delayMs }: Extract<Fact, { kind: 'redelivered' }>,
  { total }: AttemptFacts,
  policy: FailurePolicy,
): Decision {
  const reason = `the broker delivered it ${count + 1} times`
  if (delayMs !== null)
    return {
      ...held(`${reason}: it waits`, delayMs, policy),
      failureClass: 'redelivery',
      code: redeliveredCode,
    }
  const details = { failureClass: 'poison', code: redeliveredCode, attempts: Math.max(1, total) }
  return ended(policy.rules.poison.terminal, reason, details, policy)
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
  const waiting = { failureClass: 'order', code: behindBusinessKey, outOfTurn: !inTurn }
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
    exhausted: null,
    waits: null,
    blocksKey: false,
    outOfTurn: false,
    outage: false,
    braked: false,
  }
}
