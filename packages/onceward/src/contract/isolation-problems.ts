import { isRecord, oneOf, type Report, unknownKeys, wholeNumber } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'

/** Shorter silences would take a garbage collection for an endless loop. */
const deadlineMinMs = 1_000

/** Below this the runtime itself hardly fits. */
const memoryMinMb = 64

export function isolationProblems({ isolation }: ConsumerContract, wrong: Report): void {
  if (isolation === undefined) return
  if (!isRecord(isolation)) return wrong('isolation', 'must be an object')
  unknownKeys(isolation, 'isolation', 'isolation.', wrong)
  const { mode, deadlineMs, memoryMaxMb } = isolation as NonNullable<ConsumerContract['isolation']>
  if (mode !== undefined) oneOf(mode, ['none', 'child'], 'isolation.mode', wrong)
  wholeNumber(deadlineMs, 'isolation.deadlineMs', deadlineMinMs, 24 * 3_600_000, wrong)
  if (memoryMaxMb !== null) wholeNumber(memoryMaxMb, 'isolation.memoryMaxMb', memoryMinMb, 2 ** 20, wrong)
  if (mode === 'child') return
  for (const [name, value] of Object.entries({ deadlineMs, memoryMaxMb })) {
    if (value != null) wrong(`isolation.${name}`, "means nothing without isolation.mode 'child'")
  }
}
