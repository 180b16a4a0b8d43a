import { isRecord, type Report } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'

/** Options that conflict with campaigns. Accepts data of any shape. */
export function replayProblems(contract: ConsumerContract, wrong: Report): void {
  const replay: unknown = contract.replay
  if (!isRecord(replay)) return
  const { modes, tables, compare } = replay
  const remembersByPosition = contract.dedup === 'checkpoint'
  if (remembersByPosition && Array.isArray(modes) && modes.some(mode => mode !== 'forensic'))
    wrong(
      'replay.modes',
      "with dedup 'checkpoint' only the live position is recorded, and history would be applied twice: only 'forensic' is possible",
    )
  if (isRecord(compare)) compareProblems(compare, tables, wrong)
}

function compareProblems(compare: Record<string, unknown>, tables: unknown, wrong: Report): void {
  for (const [table, compared] of Object.entries(compare)) {
    const at = `replay.compare.${table}`
    if (Array.isArray(tables) && !tables.includes(table)) wrong(at, 'is not among replay.tables')
    if (!isRecord(compared)) continue
    const both = listOf(compared.mayChange).filter(column => listOf(compared.columns).includes(column))
    if (both.length > 0)
      wrong(`${at}.mayChange`, `lists ${both.join(', ')}, which ${at}.columns requires to be equal`)
  }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
