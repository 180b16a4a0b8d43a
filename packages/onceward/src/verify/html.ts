import type { Difference } from './compare-snapshots.ts'
import { escaped } from './junit.ts'
import type { ClassResult, VerifyFailure, VerifyReport } from './report.ts'

/** The report as one page without scripts or files of its own. */
export function htmlText(report: VerifyReport): string {
  const { consumer, ok, survived, of, classes, failures, volatile, notes, seed, seconds, messages } = report
  const columns = volatile.map(({ column, from }) => `<li>${escaped(column)} (${from})</li>`)
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>onceward verify ${escaped(consumer)}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0 } th, td { text-align: left; padding: .3rem .8rem; border-bottom: 1px solid #ccc }
pre, code { font-size: 14px } pre { overflow-x: auto } .bad { color: #a00 } .good { color: #060 }
</style>
<h1>${escaped(consumer)}</h1>
<p class="${ok ? 'good' : 'bad'}">${ok ? 'Survived' : 'Did not survive'}: ${survived} of ${of}, with ${messages} messages, seed ${seed}, in ${seconds} s.</p>
<table><thead><tr><th>survived</th><th>class</th><th>fault</th></tr></thead><tbody>
${classes.map(classRow).join('\n')}
</tbody></table>
${failures.map(failureSection).join('\n')}
${columns.length === 0 ? '' : `<h2>Columns that were not compared</h2><ul>${columns.join('')}</ul>`}
${notes.length === 0 ? '' : `<h2>Notes</h2><ul>${notes.map(note => `<li>${escaped(note)}</li>`).join('')}</ul>`}
</html>
`
}

function classRow({ class: kind, title, survived, of, note }: ClassResult): string {
  const count = of === 0 ? 'not run' : `${survived} of ${of}`
  const mark = survived === of ? 'good' : 'bad'
  const text = note === '' ? title : `${title} (${note})`
  return `<tr><td class="${mark}">${count}</td><td>${kind}</td><td>${escaped(text)}</td></tr>`
}

function failureSection({ what, mend, fault, lines, differences, repeat }: VerifyFailure): string {
  const where = fault === null ? 'Without any fault' : `Fault ${escaped(fault)}, messages ${lines.join(', ')}`
  return `<section><h2 class="bad">${escaped(what)}</h2><p>${escaped(mend)}</p><p>${where}</p>
${differences.map(differenceTable).join('\n')}
<pre>${escaped(repeat)}</pre></section>`
}

function differenceTable({ where, missing, extra }: Difference): string {
  const count = Math.max(missing.length, extra.length)
  const cell = (row: unknown) =>
    `<td><code>${row === undefined ? 'no such row' : escaped(JSON.stringify(row))}</code></td>`
  const rows = Array.from({ length: count }, (_, at) => `<tr>${cell(missing[at])}${cell(extra[at])}</tr>`)
  return `<table><caption>${escaped(where)}</caption><thead><tr><th>clean run</th><th>this run</th></tr></thead><tbody>${rows.join('')}</tbody></table>`
}
