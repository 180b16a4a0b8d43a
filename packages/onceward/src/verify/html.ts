import type { Difference } from './compare-snapshots.ts'
import type { Diagnosis } from './diagnose.ts'
import { escaped } from './junit.ts'
import { pairRows, shownValue } from './pair-rows.ts'
import { type ClassResult, type VerifyFailure, type VerifyReport, verdictOf } from './report.ts'

/** Longest value of a cell. */
const valueMax = 200
const rowsShown = 20

/** The report as one page without scripts or files of its own. */
export function htmlText(report: VerifyReport): string {
  const { consumer, ok, survived, of, classes, failures, warnings, volatile, notes } = report
  const verdict = verdictOf(report)
  const columns = volatile.map(
    ({ column, from }) => `<li><code>${escaped(column)}</code> from the ${from}</li>`,
  )
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(consumer)} ${verdict}</title>
<style>${style}</style>
<main>
<header>
<p class="kind">onceward verify</p>
<h1>${escaped(consumer)}</h1>
<p class="verdict ${ok ? 'good' : 'bad'}">${verdict[0]!.toUpperCase()}${verdict.slice(1)}</p>
<dl>${facts(report)}</dl>
</header>
${failures.length === 0 ? '' : `<h2>What is wrong</h2>\n${failures.map(failureSection).join('\n')}`}
${warnings.length === 0 ? '' : `<h2>Worth changing</h2>\n${warnings.map(warningSection).join('\n')}`}
<h2>${survived} of ${of} survived</h2>
<table class="classes"><thead><tr><th>survived</th><th>class</th><th>fault</th></tr></thead><tbody>
${classes.map(classRow).join('\n')}
</tbody></table>
${columns.length === 0 ? '' : `<h2>Columns that were not compared</h2>\n<p>Their values differ between clean runs.</p>\n<ul>${columns.join('')}</ul>`}
${notes.length === 0 ? '' : `<h2>Notes</h2>\n<ul>${notes.map(note => `<li>${escaped(note)}</li>`).join('')}</ul>`}
</main>
</html>
`
}

const style = `
:root { color-scheme: light dark; --line: light-dark(#ddd, #444); --soft: light-dark(#f6f6f4, #222); --good: light-dark(#17692f, #6fce8a); --bad: light-dark(#b3261e, #ff8a80); --dim: light-dark(#666, #aaa) }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 } main { max-width: 64rem; margin: 0 auto; padding: 2rem 1rem 4rem }
header { border-bottom: 1px solid var(--line); padding-bottom: 1rem } h1 { margin: 0; font-size: 2rem } h2 { margin: 2.5rem 0 .75rem; font-size: 1.25rem } h3 { margin: 0 0 .5rem; font-size: 1.05rem }
.kind { margin: 0; color: var(--dim) } .verdict { font-size: 1.25rem; font-weight: 600; margin: .25rem 0 1rem } .good { color: var(--good) } .bad { color: var(--bad) } .dim { color: var(--dim) }
dl { display: flex; flex-wrap: wrap; gap: .5rem 2rem; margin: 0 } dt { color: var(--dim); font-size: .85rem } dd { margin: 0; font-variant-numeric: tabular-nums }
section { border: 1px solid var(--line); border-left: 4px solid var(--bad); border-radius: 6px; padding: 1rem 1.25rem; margin: 0 0 1rem } section.warning { border-left-color: var(--dim) } section > p { margin: .25rem 0 }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 } th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line) } th { white-space: nowrap } thead th { color: var(--dim); font-weight: 400; font-size: .85rem }
.classes td:not(:last-child), .rows td:first-child { white-space: nowrap; font-variant-numeric: tabular-nums } .rows td { max-width: 30rem; overflow-wrap: break-word } .rows tr:nth-child(odd) td { border-bottom: 0 } caption { text-align: left; font-weight: 600; padding: .5rem 0 } .rows { overflow-x: auto }
code, pre { font: 14px/1.5 ui-monospace, monospace } pre { background: var(--soft); border-radius: 4px; padding: .6rem .8rem; margin: .75rem 0 0; white-space: pre-wrap; overflow-wrap: anywhere } mark { background: light-dark(#fde2df, #5a1d19); color: inherit }
`

function facts({ messages, seed, seconds, classes }: VerifyReport): string {
  const list = [
    ['messages', messages],
    ['classes of faults', classes.filter(({ of }) => of > 0).length],
    ['seed', seed],
    ['time', `${seconds} s`],
  ] as const
  return list.map(([name, value]) => `<div><dt>${name}</dt><dd>${value}</dd></div>`).join('')
}

function classRow({ class: kind, title, survived, of, note }: ClassResult): string {
  const count = of === 0 ? 'not run' : `${survived} of ${of}`
  const mark = of === 0 ? 'dim' : survived === of ? 'good' : 'bad'
  const more = note === '' ? '' : ` <span class="dim">(${escaped(note)})</span>`
  return `<tr><td class="${mark}">${count}</td><td>${kind}</td><td>${escaped(title)}${more}</td></tr>`
}

function failureSection(failure: VerifyFailure): string {
  const { what, fix, fault, lines, alike, differences, repeat } = failure
  const messages = `${lines.length === 1 ? 'message' : 'messages'} ${lines.join(', ')}`
  const others = alike === 0 ? '' : `, and with ${alike} other ${alike === 1 ? 'fault' : 'faults'}`
  const without = failure.class === 'not staged' ? 'at the end of the budget' : 'without any fault'
  const found = fault === null ? without : `by fault <code>${escaped(fault)}</code>, ${messages}${others}`
  return `<section><h3>${escaped(what)}</h3><p>${escaped(fix)}</p><p class="dim">Found ${found}.</p>
${differences.map(differenceTable).join('\n')}
<pre>${escaped(repeat)}</pre></section>`
}

const warningSection = ({ what, fix }: Diagnosis) =>
  `<section class="warning"><h3>${escaped(what)}</h3><p>${escaped(fix)}</p></section>`

/** Two lines for each pair of rows, with the values that differ marked. */
function differenceTable(difference: Difference): string {
  const all = pairRows(difference)
  const pairs = all.slice(0, rowsShown)
  const names = [
    ...new Set(pairs.flatMap(({ clean = {}, run = {} }) => [...Object.keys(clean), ...Object.keys(run)])),
  ]
  const head = ['', ...names].map(name => `<th>${escaped(name)}</th>`).join('')
  const line = (
    title: string,
    row: Readonly<Record<string, unknown>> | undefined,
    marked: (name: string) => boolean,
  ) =>
    row === undefined
      ? `<tr><td class="dim">${title}</td><td colspan="${names.length}" class="dim">no such row</td></tr>`
      : `<tr><td class="dim">${title}</td>${names.map(name => cell(row[name], marked(name))).join('')}</tr>`
  const body = pairs.map(({ clean, run, differing }) => {
    const marked = (name: string) => clean === undefined || run === undefined || differing.has(name)
    return line('clean run', clean, marked) + line('this run', run, marked)
  })
  const more = all.length > rowsShown ? `<p class="dim">and ${all.length - rowsShown} more rows</p>` : ''
  return `<div class="rows"><table><caption>${escaped(difference.where)}</caption><thead><tr>${head}</tr></thead><tbody>${body.join('\n')}</tbody></table></div>${more}`
}

function cell(value: unknown, marked: boolean): string {
  const whole = shownValue(value)
  const text = escaped(whole.length > valueMax ? `${whole.slice(0, valueMax)}…` : whole)
  return `<td><code>${marked ? `<mark>${text}</mark>` : text}</code></td>`
}
