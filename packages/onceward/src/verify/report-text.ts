import type { Difference } from './compare-snapshots.ts'
import type { Diagnosis } from './diagnose.ts'
import { pairRows, type RowPair, shownValue } from './pair-rows.ts'
import { type VerifyFailure, type VerifyReport, verdictOf } from './report.ts'

/** Rows shown of each difference. */
const rowsShown = 4
const label = 10
const usualWidth = 80

/** The report as text: the table of classes, then each failure. Values of rows are escaped by the caller. */
export function reportText(report: VerifyReport, width = usualWidth): string {
  const { failures, warnings, volatile, notes } = report
  const parts = [
    classTable(report, width),
    ...failures.map(failure => failureText(failure, width)),
    ...warnings.map(warning => warningText(warning, width)),
    ...(volatile.length === 0 ? [] : [volatileText(report, width)]),
    ...(notes.length === 0 ? [] : [notes.map(note => wrapped('', note, width, 2)).join('\n')]),
    summary(report),
  ]
  return parts.join('\n\n')
}

function classTable({ classes }: VerifyReport, width: number): string {
  const rows = classes.map(({ class: kind, title, survived, of, note }) => ({
    count: of === 0 ? 'not run' : `${survived} of ${of}`,
    kind,
    text: note === '' ? title : `${title} (${note})`,
  }))
  const all = [{ count: 'survived', kind: 'class', text: 'fault' }, ...rows]
  const countWidth = Math.max(...all.map(({ count }) => count.length)) + 2
  const kindWidth = Math.max(...all.map(({ kind }) => kind.length)) + 2
  const lines = all.map(({ count, kind, text }) =>
    wrapped(count.padEnd(countWidth) + kind.padEnd(kindWidth), text, width, countWidth + kindWidth),
  )
  return lines.join('\n')
}

function summary(report: VerifyReport): string {
  const { consumer, survived, of, messages, seed, seconds } = report
  const verdict = verdictOf(report)
  return `${consumer} ${verdict}: ${survived} of ${of}, with ${messages === 1 ? 'one message' : `${messages} messages`}, seed ${seed}, in ${seconds} s`
}

function volatileText({ volatile }: VerifyReport, width: number): string {
  const by = (from: string) => volatile.filter(one => one.from === from).map(one => one.column)
  const lists = [
    ['not compared, from the time or sequences of the database:', by('database')],
    ['not compared, from the clock or random numbers of the handler:', by('handler')],
  ] as const
  return lists
    .filter(([, names]) => names.length > 0)
    .map(([text, names]) => wrapped('', `${text} ${names.join(', ')}`, width, 2))
    .join('\n')
}

function warningText({ what, fix }: Diagnosis, width: number): string {
  return [wrapped('WARNING ', what, width, 8), wrapped('  fix     ', fix, width, label)].join('\n')
}

export function failureText(failure: VerifyFailure, width = usualWidth): string {
  const { what, fix, fault, lines, alike, repeat, differences } = failure
  const where =
    failure.class === 'not staged'
      ? 'at the end of the budget'
      : fault === null
        ? 'without any fault'
        : `fault ${fault}, ${lines.length === 1 ? 'message' : 'messages'} ${lines.join(', ')}`
  const others = alike === 0 ? '' : `, and with ${alike} other ${alike === 1 ? 'fault' : 'faults'}`
  return [
    wrapped('FAILED ', what, width, 7),
    wrapped('  fix     ', fix, width, label),
    wrapped('  found   ', `${where}${others}`, width, label),
    ...differences.map(difference => differenceText(difference, width)),
    // Not wrapped: it is copied.
    `  repeat  ${repeat}`,
  ].join('\n')
}

/** The rows of the clean run beside those of the failed run; one below the other if they are too long. */
function differenceText(difference: Difference, width: number): string {
  const pairs = pairRows(difference)
  const shown = pairs.slice(0, rowsShown)
  const room = width - label
  const texts = shown.map(pair => [rowText(pair, 'clean'), rowText(pair, 'run')] as const)
  const left = Math.max(9, ...texts.map(([clean]) => clean.length))
  const fits = texts.every(([, run]) => left + 2 + run.length <= room)
  const lines = fits
    ? [['clean run', 'this run'] as const, ...texts].map(([clean, run]) => `${clean.padEnd(left)}  ${run}`)
    : texts.flatMap(([clean, run]) => [`clean run  ${clean}`, `this run   ${run}`])
  const more = pairs.length > rowsShown ? [`… and ${pairs.length - rowsShown} more rows`] : []
  return [
    `  rows    ${difference.where}`,
    ...[...lines, ...more].map(line => ' '.repeat(label) + cut(line, room)),
  ].join('\n')
}

/** The columns that differ come first. */
function rowText({ clean, run, differing }: RowPair, which: 'clean' | 'run'): string {
  const row = which === 'clean' ? clean : run
  if (row === undefined) return '(no such row)'
  const columns = Object.keys(row)
  if (columns.length === 0) return '(a row, no column of which was compared)'
  const ordered = [
    ...columns.filter(one => differing.has(one)),
    ...columns.filter(one => !differing.has(one)),
  ]
  return ordered.map(name => `${name}=${shownValue(row[name]).slice(0, 60)}`).join(' ')
}

const cut = (line: string, room: number) =>
  line.length > room ? `${line.slice(0, room - 1)}…` : line.trimEnd()

/** Text after a head, in lines of the width; further lines begin at the indent. */
function wrapped(head: string, text: string, width: number, indent: number): string {
  const lines: string[] = []
  let line = head
  let begun = false
  for (const word of text.split(/\s+/)) {
    if (begun && line.length + 1 + word.length > width) {
      lines.push(line)
      line = ' '.repeat(indent) + word
    } else line += begun ? ` ${word}` : word
    begun = true
  }
  return [...lines, line.trimEnd()].join('\n')
}
