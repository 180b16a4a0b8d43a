import { isRecord, type Report, wholeNumber } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'

const timeouts = ['requestTimeoutMs', 'connectTimeoutMs', 'sessionTimeoutMs', 'rebalanceTimeoutMs'] as const

/** What a policy file may say of a source; the rest is its own function's to refuse. */
export function sourceProblems({ source }: ConsumerContract, wrong: Report): void {
  if (!isRecord(source) || typeof source.kind !== 'string')
    return wrong('source', "must be made by a source's own function, such as queue('payments.q')")
  for (const name of timeouts) wholeNumber(source[name], `source.${name}`, 1_000, 3_600_000, wrong)
  wholeNumber(source.addedPartitionsWaitMs, 'source.addedPartitionsWaitMs', 0, 2 ** 31 - 1, wrong)
}
