import { isRecord, type Report, unknownKeys } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'
import { publishProblems } from './publish-problems.ts'
import { targetProblems } from './target-problems.ts'

export function effectProblems(contract: ConsumerContract, wrong: Report): void {
  const effect = contract.effect
  if (effect === undefined) return
  if (!isRecord(effect)) return wrong('effect', 'must be an object')
  unknownKeys(effect, 'effect', 'effect.', wrong)
  applyProblems(contract, effect.apply, wrong)
  for (const [name, target] of Object.entries(effect.external ?? {})) {
    targetProblems(`effect.external.${name}`, target, wrong)
  }
  publishProblems(effect.publish, wrong)
}

function applyProblems(contract: ConsumerContract, apply: unknown, wrong: Report): void {
  if (apply === undefined) return
  if (!isRecord(apply) || typeof apply.apply !== 'function' || typeof apply.problems !== 'function')
    return wrong('effect.apply', 'must be made by an effect, such as projection({ … })')
  for (const { place, text } of contract.effect!.apply!.problems(contract))
    wrong(`effect.apply.${place}`, text)
}
