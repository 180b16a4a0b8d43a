import type { Report } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'
import { optionReader } from './options/defaults.ts'

export function evidenceProblems(contract: ConsumerContract, wrong: Report): void {
  if (contract.evidence?.keep !== 'payload') return
  if (optionReader(contract)('evidence.receipts') === false)
    wrong('evidence.keep', "'payload' needs receipts: set evidence.receipts to true")
}
