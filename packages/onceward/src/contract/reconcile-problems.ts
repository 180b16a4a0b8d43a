import { isRecord, type Report } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'

/** Effects are compared with markers. */
export function reconcileProblems({ reconcile, dedup }: ConsumerContract, wrong: Report): void {
  if (isRecord(reconcile) && (dedup === 'checkpoint' || dedup === 'version'))
    wrong('reconcile', `compares with markers, of which dedup '${dedup}' keeps none`)
}
