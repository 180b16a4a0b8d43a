import { isRecord, type Report } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'

/** Problems that a declared effect reports about its own declaration. */
export function declaredEffectProblems(contract: ConsumerContract, wrong: Report): void {
  const apply: unknown = isRecord(contract.effect) ? contract.effect.apply : undefined
  if (!isRecord(apply) || typeof apply.apply !== 'function' || typeof apply.problems !== 'function') return
  for (const { place, text } of contract.effect!.apply!.problems(contract))
    wrong(`effect.apply.${place}`, text)
}
