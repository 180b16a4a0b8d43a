import { isRecord, type Report } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'

/** Limits that only a child process can enforce. */
export function isolationProblems({ isolation }: ConsumerContract, wrong: Report): void {
  if (!isRecord(isolation) || isolation.mode === 'child') return
  for (const name of ['deadlineMs', 'memoryMaxMb'] as const) {
    if (isolation[name] != null) wrong(`isolation.${name}`, "has no effect without isolation.mode 'child'")
  }
}
