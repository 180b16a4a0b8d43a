import type { VerifyReport } from './report.ts'
import { failureText } from './report-text.ts'

/** The report as JUnit XML: a test case for each class, and one for each failure. */
export function junitText(report: VerifyReport): string {
  const { consumer, classes, failures, seconds } = report
  const survived = classes.map(({ class: kind, title, survived: count, of, note }) => {
    const name = escaped(`${kind}: ${title}`)
    const skipped = of === 0 ? `<skipped message="${escaped(note)}"/>` : ''
    return `    <testcase classname="${escaped(consumer)}" name="${name} (${count} of ${of})">${skipped}</testcase>`
  })
  const failed = failures.map(
    failure => `    <testcase classname="${escaped(consumer)}" name="${escaped(failure.what)}">
      <failure message="${escaped(failure.fix)}">${escaped(failureText(failure))}</failure>
    </testcase>`,
  )
  const count = survived.length + failed.length
  const skipped = classes.filter(({ of }) => of === 0).length
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="onceward verify ${escaped(consumer)}" tests="${count}" failures="${failed.length}" skipped="${skipped}" time="${seconds}">
${[...survived, ...failed].join('\n')}
  </testsuite>
</testsuites>
`
}

/** XML has no way to write most control characters. */
export function escaped(text: string): string {
  return text
    .replaceAll(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd]/g, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
