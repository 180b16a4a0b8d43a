import { byBroker } from '../ports/retry-levels.ts'
import type { ConsumerContract } from './contract.ts'
import type {
  ClassPolicy,
  FailureBreaker,
  FailureClass,
  FailureSection,
  ParkingSection,
} from './failure-section.ts'
import { optionReader, withDefaults } from './options/defaults.ts'
import { contractOptions, type OptionTable } from './options/table.ts'
import { retryLevelsMs } from './retry-levels.ts'

/**
 * The failure classes of a contract, and three that only the engine assigns: `unclassified`, `contention`
 * (the database's deadlocks and serialization failures) and `verdict` (the handler asked for a retry).
 */
export type PolicyClass = FailureClass | 'unclassified' | 'contention' | 'verdict'
export type Terminal = NonNullable<ClassPolicy['terminal']>

/** How failures of one class are treated. */
export interface ClassRules {
  readonly attemptsMax: number
  /** True: counted separately. All other classes share one budget. */
  readonly ownBudget: boolean
  readonly delayMs: number
  readonly delayMaxMs: number
  readonly terminal: Terminal
  readonly breaker: boolean
}

/** The failure section of a contract with all defaults applied. */
export interface FailureRules {
  readonly attemptsMax: number
  readonly mode: NonNullable<FailureSection['mode']>
  /** The waits at the broker, shortest first; empty unless the mode is `retry queue` or `retry topic`. */
  readonly retryLevelsMs: readonly number[]
  readonly exhausted: NonNullable<FailureSection['exhausted']>
  readonly jitter: boolean
  readonly classes: Readonly<Record<string, FailureClass>>
  readonly rules: Readonly<Record<PolicyClass, ClassRules>>
  /** Failures of one kind after which a message is poison; null: only its attempts decide. */
  readonly sameMax: number | null
  readonly breaker: Required<FailureBreaker> | null
  /** The outcome of unreadable bytes, and of types and versions the contract does not list. */
  readonly unreadable: Terminal
  readonly unexpected: Terminal
  /** The outcome of a message that would be dead-lettered. */
  readonly rejected: 'dead-lettered' | 'parked'
  readonly parking: Required<ParkingSection>
  /** The queue or topic that receives copies. */
  readonly deadLetter: string | null
  readonly deadLetterOwner: string
}

const shared: readonly PolicyClass[] = ['transient', 'overload', 'rate limited', 'unclassified', 'verdict']
const unavailable: readonly PolicyClass[] = ['transient', 'overload', 'rate limited']
/** Classes that are not retried. */
export const triedOnce: readonly FailureClass[] = [
  'business conflict',
  'validation',
  'poison',
  'configuration',
  'corruption',
]
const terminals: Partial<Record<PolicyClass, Terminal>> = {
  validation: 'dead-lettered',
  configuration: 'halted',
  corruption: 'quarantined',
}

export function failureRules<M, Tx>(
  contract: ConsumerContract<M, Tx>,
  table: OptionTable = contractOptions,
): FailureRules {
  const { failure = {} } = contract
  const { policies = {}, breaker, deadLetter } = failure
  const get = optionReader(contract, table)
  const all = withDefaults('failure', failure, contract, table)
  const atMostOnce = get('settle.when') === 'before effect'
  const rulesOf = (name: PolicyClass) => classRules(name, all, policies[name as FailureClass], atMostOnce)
  const named = [...shared, ...triedOnce, 'contention' as const]
  const rules = Object.fromEntries(named.map(name => [name, rulesOf(name)])) as Record<
    PolicyClass,
    ClassRules
  >
  const off = breaker === false || atMostOnce
  return {
    attemptsMax: all.attemptsMax,
    mode: all.mode,
    retryLevelsMs: byBroker(all.mode) ? retryLevelsMs(Object.values(rules)) : [],
    exhausted: all.exhausted,
    jitter: all.jitter,
    classes: { ...failure.classes },
    rules,
    sameMax: failure.poison?.maxAttemptsBeforePark ?? null,
    breaker: off ? null : withDefaults('failure.breaker', breaker, contract, table),
    unreadable: policies.poison?.terminal ?? 'quarantined',
    unexpected: policies.poison?.terminal ?? 'parked',
    rejected: mayPass(contract) ? 'dead-lettered' : 'parked',
    parking: withDefaults('failure.parking', failure.parking, contract, table),
    deadLetter: (typeof deadLetter === 'string' ? deadLetter : deadLetter?.to) ?? null,
    deadLetterOwner: get('failure.deadLetter.owner'),
  }
}

type AllRules = Pick<ClassRules, 'attemptsMax' | 'delayMs' | 'delayMaxMs'>

function classRules(
  name: PolicyClass,
  all: AllRules,
  policy: ClassPolicy = {},
  atMostOnce: boolean,
): ClassRules {
  const single = atMostOnce || triedOnce.includes(name as FailureClass)
  return {
    attemptsMax: policy.attemptsMax ?? (single ? 1 : all.attemptsMax),
    ownBudget: policy.attemptsMax !== undefined || !shared.includes(name),
    delayMs: policy.delayMs ?? all.delayMs,
    delayMaxMs: policy.delayMaxMs ?? Math.max(policy.delayMs ?? 0, all.delayMaxMs),
    terminal: policy.terminal ?? terminals[name] ?? 'parked',
    breaker: policy.breaker ?? unavailable.includes(name),
  }
}

/** Codes that retry policies commonly use. */
export const policyWords: Readonly<Record<string, FailureClass>> = {
  DATABASE_TIMEOUT: 'transient',
  DEPENDENCY_UNAVAILABLE: 'overload',
  RATE_LIMITED: 'rate limited',
  SCHEMA_INVALID: 'validation',
  AUTHORIZATION_FAILED: 'configuration',
  UNKNOWN_EVENT_TYPE: 'poison',
}

/** An ordered consumer of grave risk needs a named person who accepts that messages pass a dead letter. */
function mayPass<M, Tx>({ failure, risk, order }: ConsumerContract<M, Tx>): boolean {
  const deadLetter = typeof failure?.deadLetter === 'string' ? {} : (failure?.deadLetter ?? {})
  if (deadLetter.manualReviewRequired === true) return false
  return order !== 'key' || !isGrave(risk) || deadLetter.passingAcceptedBy !== undefined
}

export function isGrave(risk: string): boolean {
  return risk === 'money' || risk === 'regulatory'
}

/**
 * The same rules without a record of attempts: the first attempt decides, and the source is never paused for
 * a dependency.
 */
export function decidedAtOnce(failure: FailureRules): FailureRules {
  const once = Object.entries(failure.rules).map(([of, rules]) => [of, { ...rules, attemptsMax: 1 }])
  return { ...failure, exhausted: 'set aside', breaker: null, rules: Object.fromEntries(once) }
}
