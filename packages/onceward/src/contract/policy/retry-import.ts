import { policyWords, triedOnce } from '../failure-rules.ts'
import type { FailureClass } from '../failure-section.ts'
import type { Refuse } from './problem.ts'
import type { GivenValue } from './read-layer.ts'

/** Keys of other systems' retry policies, and their equivalent here. */
export const retryHabits: readonly (readonly [string, string])[] = [
  ['failure.retry.jitter', "is set by failure.retry.backoff: 'exponential' or 'exponential-jitter'"],
  ['failure.retry.initialDelayMs', "is written with a unit: initialDelay: '1s'"],
  ['failure.retry.maxDelayMs', "is written with a unit: maxDelay: '60s'"],
]

/** Translates a key of `failure.retry` into options of the contract. Returns every other value unchanged. */
export function toContractValues(given: GivenValue): readonly GivenValue[] {
  switch (given.key.key) {
    case 'failure.retry.backoff':
      return [{ ...given, value: given.value === 'exponential-jitter' }]
    case 'failure.retry.retryable':
      return classed(given, code => listedClass(code, known => !triedOnce.includes(known), 'transient'))
    case 'failure.retry.nonRetryable':
      return classed(given, code => listedClass(code, known => triedOnce.includes(known), 'poison'))
    default:
      return [given]
  }
}

/** Refuses a code that has two classes in one place, because it would be unclear which one counts. */
export function refuseTwoClasses(values: readonly GivenValue[], refuse: Refuse): void {
  const seen = new Set<string>()
  for (const { path, at, filePath } of values) {
    if (path?.[0] !== 'failure' || path[1] !== 'classes' || path[2] === undefined) continue
    if (seen.has(path[2])) refuse(at, filePath, `names '${path[2]}', which has a class elsewhere too`)
    seen.add(path[2])
  }
}

function classed(given: GivenValue, classOf: (code: string) => FailureClass): readonly GivenValue[] {
  const codes = given.value as readonly string[]
  return codes.map(code => ({ ...given, path: ['failure', 'classes', code], value: classOf(code) }))
}

/** A well-known code keeps its usual class if that class fits the list. */
function listedClass(
  code: string,
  fits: (known: FailureClass) => boolean,
  otherwise: FailureClass,
): FailureClass {
  const known = Object.hasOwn(policyWords, code) ? policyWords[code] : undefined
  return known !== undefined && fits(known) ? known : otherwise
}
