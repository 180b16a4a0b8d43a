import { isRecord, type Report } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'

/** Reconciliation compares effects with markers, so it needs markers. */
export function reconcileProblems({ reconcile, dedup }: ConsumerContract, wrong: Report): void {
  if (isRecord(reconcile) && (dedup === 'checkpoint' || dedup === 'version'))
    wrong('reconcile', `compares effects with markers, and dedup '${dedup}' keeps none`)
}
