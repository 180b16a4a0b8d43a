import type { ParkedRow } from '../../../drivers/postgres/parking/read-parked.ts'
import type { CalledTarget, ParkedPreview } from '../../../operations/parking/preview-parked.ts'
import { counted, oneLine } from '../../output.ts'
import { table } from '../../table.ts'
import { originText, parkedTable } from './parked-table.ts'

const rowsShown = 10

/** What an act would touch: the total, the causes and what may be called; then the first rows. */
export function previewText(preview: ParkedPreview, next: string | null): string {
  const { rows, digest, more, behind, targets } = preview
  const waiting = behind.reduce((sum, { count }) => sum + count, 0)
  const left = rows.length - rowsShown
  return [
    `${counted(rows.length, 'message')}${more ? ', and more match: raise --limit' : ''}`,
    ...(waiting > 0 ? [behindText(waiting, behind.length)] : []),
    callsText(targets),
    '',
    causesTable(rows),
    '',
    parkedTable(rows.slice(0, rowsShown)),
    ...(left > 0 ? ['', `and ${left} more: --json lists them all`] : []),
    '',
    `digest ${digest}`,
    ...(next === null ? [] : [`next: ${next}`]),
  ].join('\n')
}

/** `1 more message waits behind it (1 key)`. */
function behindText(waiting: number, keys: number): string {
  const verb = waiting === 1 ? 'waits' : 'wait'
  return `${counted(waiting, 'more message')} ${verb} behind them (${counted(keys, 'key')})`
}

function callsText(targets: readonly CalledTarget[]): string {
  if (targets.length === 0) return 'Its messages have called no target so far.'
  const names = targets.map(
    ({ target, type, calls }) => `${target} (${type ?? 'unknown kind'}, ${calls} so far)`,
  )
  return `If they are applied, they may call: ${oneLine(names.join(', '))}.`
}

function causesTable(rows: readonly ParkedRow[]): string {
  const groups = [
    ...Map.groupBy(rows, row => JSON.stringify([row.cause, row.code, row.state, originText(row)])),
  ]
  const lines = groups
    .map(([, [first, ...rest]]) => [
      rest.length + 1,
      first!.cause,
      first!.code,
      first!.state,
      originText(first!),
    ])
    .sort(([a], [b]) => Number(b) - Number(a))
  return table(['count', 'cause', 'code', 'state', 'from'], lines)
}
