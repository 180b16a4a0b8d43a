import { byBroker } from '../ports/retry-levels.ts'
import type { ConsumerContract } from './contract.ts'
import type {
  ClassPolicy,
  FailureBrake,
  FailureBreaker,
  FailureClass,
  FailureSection,
  ParkingSection,
  RedeliverySection,
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
  /** Its attempts are a budget. False for classes that the first failure ends. */
  readonly retried: boolean
  /** Failures of one kind after which a message is poison; null: only its attempts decide. */
  readonly sameMax: number | null
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
  readonly breaker: Required<FailureBreaker> | null
  readonly brake: Required<FailureBrake> | null
  /** For messages that the broker delivers again and again; null: nothing. */
  readonly redelivery: Required<RedeliverySection> | null
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

const unavailable: readonly PolicyClass[] = ['transient', 'overload', 'rate limited', 'configuration']
const sharing: readonly PolicyClass[] = [...unavailable, 'unclassified', 'verdict']
/** Classes that are not retried. */
export const triedOnce: readonly FailureClass[] = ['business conflict', 'validation', 'poison', 'corruption']
const terminals: Partial<Record<PolicyClass, Terminal>> = {
  validation: 'dead-lettered',
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
  const shared = { ...all, atMostOnce, sameMax: failure.poison?.maxAttemptsBeforePark ?? null }
  const rulesOf = (name: PolicyClass) => classRules(name, shared, policies[name as FailureClass])
  const named = [...sharing, ...triedOnce, 'contention' as const]
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
    brake:
      failure.brake === false || atMostOnce
        ? null
        : withDefaults('failure.brake', failure.brake, contract, table),
    breaker: off ? null : withDefaults('failure.breaker', breaker, contract, table),
    redelivery:
      failure.redelivery === undefined
        ? null
        : (withDefaults(
            'failure.redelivery',
            failure.redelivery,
            contract,
            table,
          ) as Required<RedeliverySection>),
    unreadable: policies.poison?.terminal ?? 'quarantined',
    unexpected: policies.poison?.terminal ?? 'parked',
    rejected: mayPass(contract) ? 'dead-lettered' : 'parked',
    parking: withDefaults('failure.parking', failure.parking, contract, table),
    deadLetter: (typeof deadLetter === 'string' ? deadLetter : deadLetter?.to) ?? null,
    deadLetterOwner: get('failure.deadLetter.owner'),
  }
}

interface SharedRules extends Pick<ClassRules, 'attemptsMax' | 'delayMs' | 'delayMaxMs' | 'sameMax'> {
  readonly exhausted: FailureRules['exhausted']
  readonly atMostOnce: boolean
}

function classRules(name: PolicyClass, all: SharedRules, policy: ClassPolicy = {}): ClassRules {
  // A consumer that halts for a refused login halts at the first one, before the breaker pauses it.
  const halts = name === 'configuration' && policy.terminal === 'halted'
  const endsAtOnce = triedOnce.includes(name as FailureClass) && (policy.attemptsMax ?? 1) === 1
  const attemptsMax = policy.attemptsMax ?? (all.atMostOnce || halts || endsAtOnce ? 1 : all.attemptsMax)
  const breaker = policy.breaker ?? (!halts && unavailable.includes(name))
  const byDefault = !endsAtOnce && all.exhausted === 'dead-lettered' ? 'dead-lettered' : 'parked'
  return {
    attemptsMax,
    retried: !endsAtOnce,
    sameMax: all.sameMax ?? poisonAfter(attemptsMax, breaker || policy.terminal === 'halted'),
    ownBudget: policy.attemptsMax !== undefined || !sharing.includes(name),
    delayMs: policy.delayMs ?? all.delayMs,
    delayMaxMs: policy.delayMaxMs ?? Math.max(policy.delayMs ?? 0, all.delayMaxMs),
    terminal: policy.terminal ?? terminals[name] ?? byDefault,
    breaker,
  }
}

/**
 * A message whose every attempt fails in the same way is poison. One failure is no repetition, and the
 * failures of an unavailable dependency say nothing about the message.
 */
function poisonAfter(attemptsMax: number, ofOthers: boolean): number | null {
  return ofOthers || attemptsMax === 1 ? null : attemptsMax
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
  const exhausted = failure.exhausted === 'stop' ? 'parked' : failure.exhausted
  return { ...failure, exhausted, breaker: null, rules: Object.fromEntries(once) }
}
