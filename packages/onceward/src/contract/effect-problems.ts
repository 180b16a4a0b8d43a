import { isRecord, oneOf, type Report, unknownKeys, wholeNumber } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'
import { publishProblems } from './publish-problems.ts'

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

function targetProblems(place: string, target: unknown, wrong: Report): void {
  if (!isRecord(target)) return wrong(place, 'must be an object with a url')
  unknownKeys(target, 'target', `${place}.`, wrong)
  if (typeof target.url !== 'string' || !/^https?:\/\//.test(target.url) || !URL.canParse(target.url)) {
    wrong(`${place}.url`, 'must be an http or https address')
  }
  if (target.method !== undefined) oneOf(target.method, ['POST', 'PUT', 'PATCH'], `${place}.method`, wrong)
  for (const field of ['timeoutMs', 'attemptsMax', 'retryDelayMs', 'retryDelayMaxMs', 'concurrencyMax']) {
    wholeNumber(target[field], `${place}.${field}`, 1, 2 ** 31 - 1, wrong)
  }
}
