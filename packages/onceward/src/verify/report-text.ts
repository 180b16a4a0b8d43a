import type { Difference } from './compare-snapshots.ts'
import type { VerifyFailure, VerifyReport } from './report.ts'
import type { SnapshotRow } from './snapshot.ts'

/** Rows shown of each difference. */
const rowsShown = 4

/** The report as text: the table of classes, then each failure. Values of rows are escaped by the caller. */
export function reportText(report: VerifyReport): string {
  const head = ['survived', 'class', 'fault']
  const rows = report.classes.map(one => [
    one.of === 0 ? 'not run' : `${one.survived} of ${one.of}`,
    one.class,
    one.note === '' ? one.title : `${one.title} (${one.note})`,
  ])
  const parts = [
    columns([head, ...rows]),
    ...report.failures.map(failureText),
    ...(report.volatile.length === 0 ? [] : [volatileText(report)]),
    ...(report.notes.length === 0 ? [] : [report.notes.join('\n')]),
    summary(report),
  ]
  return parts.join('\n\n')
}

function summary({ consumer, survived, of, messages, seed, seconds, ok }: VerifyReport): string {
  const verdict = ok ? 'survived' : 'did not survive'
  return `${consumer} ${verdict}: ${survived} of ${of}, with ${messages} messages, seed ${seed}, in ${seconds} s`
}

function volatileText({ volatile }: VerifyReport): string {
  const by = (from: string) => volatile.filter(one => one.from === from).map(one => one.column)
  const lists = [
    ['not compared, from the time or sequences of the database', by('database')],
    ['not compared, from the clock or random numbers of the handler', by('handler')],
  ] as const
  return lists
    .filter(([, names]) => names.length > 0)
    .map(([text, names]) => `${text}: ${names.join(', ')}`)
    .join('\n')
}

export function failureText(failure: VerifyFailure): string {
  const { what, mend, fault, lines, alike, repeat, differences } = failure
  const where =
    fault === null
      ? 'without any fault'
      : `fault ${fault}, ${lines.length === 1 ? 'message' : 'messages'} ${lines.join(', ')}`
  return [
    `FAILED ${what}`,
    `  mend    ${mend}`,
    `  found   ${where}${alike > 0 ? `, and with ${alike} other faults` : ''}`,
    ...differences.map(differenceText),
    `  repeat  ${repeat}`,
  ].join('\n')
}

/** The rows of the clean run beside those of the failed run. */
export function differenceText({ where, missing, extra }: Difference): string {
  const count = Math.max(missing.length, extra.length)
  const lines = Array.from({ length: Math.min(count, rowsShown) }, (_, at) => [
    rowText(missing[at]),
    rowText(extra[at]),
  ])
  const table = columns([['clean run', 'this run'], ...lines])
  const more = count > rowsShown ? `\n    … and ${count - rowsShown} more rows` : ''
  return `  rows    ${where}\n${table.replaceAll(/^/gm, '    ')}${more}`
}

function rowText(row: SnapshotRow | undefined): string {
  if (row === undefined) return '(no such row)'
  return Object.entries(row)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ')
    .slice(0, 160)
}

function columns(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, at) => Math.max(...rows.map(row => row[at]!.length)))
  return rows
    .map(row =>
      row
        .map((cell, at) => cell.padEnd(widths[at]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
