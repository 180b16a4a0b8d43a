import { isRecord, oneOf, type Report, unknownKeys } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'
import { durationMs } from './duration.ts'
import { campaignModes } from './known-names.ts'

/** What a contract says of replays. Also usable on data that is no contract. */
export function replayProblems(contract: ConsumerContract, wrong: Report): void {
  const replay: unknown = contract.replay
  if (replay === undefined) return
  if (!isRecord(replay)) return wrong('replay', 'must be an object')
  unknownKeys(replay, 'replay', 'replay.', wrong)
  const { modes, window, effects, tables, compare } = replay
  if (window !== undefined && durationMs(window) === null)
    wrong('replay.window', "must be a number of milliseconds or a text such as '36h', '30d' or '7y'")
  if (effects !== undefined) oneOf(effects, ['with approval', 'never'], 'replay.effects', wrong)
  if (modes !== undefined) {
    if (!Array.isArray(modes)) wrong('replay.modes', 'must be a list')
    else for (const mode of modes) oneOf(mode, campaignModes, 'replay.modes', wrong)
  }
  const remembersByPosition = contract.dedup === 'checkpoint'
  if (remembersByPosition && Array.isArray(modes) && modes.some(mode => mode !== 'forensic'))
    wrong(
      'replay.modes',
      "with dedup 'checkpoint' nothing but the live position is remembered, and history would be applied twice: only 'forensic' is possible",
    )
  if (compare !== undefined) compareProblems(compare, tables, wrong)
  if (tables === undefined) return
  const isName = (table: unknown) => typeof table === 'string' && /^[^.\0"]{1,63}$/.test(table)
  if (!Array.isArray(tables) || tables.length === 0 || !tables.every(isName))
    wrong(
      'replay.tables',
      'must list tables by name, without a schema: a rebuild puts its own before those of the search path',
    )
}

function compareProblems(compare: unknown, tables: unknown, wrong: Report): void {
  if (!isRecord(compare)) return wrong('replay.compare', 'must be an object, one entry per table')
  const isColumn = (column: unknown) => typeof column === 'string' && /^[^\0"]{1,63}$/.test(column)
  for (const [table, compared] of Object.entries(compare)) {
    const at = `replay.compare.${table}`
    if (Array.isArray(tables) && !tables.includes(table)) wrong(at, 'is not among replay.tables')
    if (!isRecord(compared)) {
      wrong(at, 'must be an object with key, columns or mayChange')
      continue
    }
    unknownKeys(compared, 'compared table', `${at}.`, wrong)
    for (const name of ['key', 'columns', 'mayChange']) {
      const columns = compared[name]
      if (columns === undefined) continue
      if (!Array.isArray(columns) || columns.length === 0 || !columns.every(isColumn))
        wrong(`${at}.${name}`, 'must list columns by name')
    }
    const both = listOf(compared.mayChange).filter(column => listOf(compared.columns).includes(column))
    if (both.length > 0)
      wrong(`${at}.mayChange`, `names ${both.join(', ')}, which ${at}.columns says must be the same`)
  }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
