import { isRecord, type Report } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'
import { declaredEffectProblems } from './effect-problems.ts'
import { evidenceProblems } from './evidence-problems.ts'
import { failureProblems } from './failure-problems.ts'
import { identityProblems } from './identity-problems.ts'
import { inboxProblems } from './inbox-problems.ts'
import { isolationProblems } from './isolation-problems.ts'
import { optionProblems } from './options/option-problems.ts'
import { contractOptions, type OptionTable } from './options/table.ts'
import { publishProblems } from './publish-problems.ts'
import { reconcileProblems } from './reconcile-problems.ts'
import { replayProblems } from './replay-problems.ts'
import { retentionProblems } from './retention-problems.ts'
import { settleProblems } from './settle-problems.ts'
import { sourceProblems } from './source-problems.ts'
import { externalProblems } from './target-problems.ts'

export interface ContractProblem {
  readonly place: string
  readonly text: string
}

/**
 * Rules about combinations of options. Each rule accepts data of any shape, because the table reports wrong
 * single values.
 */
const rules: readonly ((contract: ConsumerContract, wrong: Report) => void)[] = [
  handlerProblems,
  sourceProblems,
  identityProblems,
  declaredEffectProblems,
  externalProblems,
  publishProblems,
  failureProblems,
  inboxProblems,
  replayProblems,
  isolationProblems,
  reconcileProblems,
  evidenceProblems,
  retentionProblems,
  settleProblems,
]

/** Every problem of a contract at once. Pure; accepts data of any shape. */
export function contractProblems(
  contract: ConsumerContract,
  table: OptionTable = contractOptions,
): ContractProblem[] {
  const problems: ContractProblem[] = []
  const wrong = (place: string, text: string) => void problems.push({ place, text })
  if (!isRecord(contract)) return [{ place: 'contract', text: 'must be an object' }]
  optionProblems(contract, wrong, table)
  for (const rule of rules) rule(contract, wrong)
  return problems
}

function handlerProblems({ handle, handleBatch, effect }: ConsumerContract, wrong: Report): void {
  const ways = [handle, handleBatch, effect?.apply]
  if (ways.filter(way => way !== undefined).length !== 1)
    wrong('handle', 'set exactly one of handle (per message), handleBatch (per batch) and effect.apply')
}
