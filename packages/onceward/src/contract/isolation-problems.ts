import { isRecord, type Report } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'

/** What only a child process can keep. */
export function isolationProblems({ isolation }: ConsumerContract, wrong: Report): void {
  if (!isRecord(isolation) || isolation.mode === 'child') return
  for (const name of ['deadlineMs', 'memoryMaxMb'] as const) {
    if (isolation[name] != null) wrong(`isolation.${name}`, "means nothing without isolation.mode 'child'")
  }
}
