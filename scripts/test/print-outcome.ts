import { inspect } from 'node:util'
import type { Failure, Outcome } from './outcome.ts'

const seconds = (ms: number) => `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`

export function printFile(outcome: Outcome, file: string): void {
  const { tests, failed, durationMs } = outcome.files.get(file) ?? { tests: 0, failed: 0, durationMs: 0 }
  const skipped = outcome.skipped.filter(skip => skip.file === file).length
  const notes = [`${tests} tests`, failed && `${failed} FAILED`, skipped && `${skipped} skipped`].filter(
    Boolean,
  )
  console.log(`${failed ? '✖' : '✔'} ${file} (${notes.join(', ')}, ${seconds(durationMs)})`)
  for (const note of outcome.notes.get(file) ?? []) console.log(`    ${note}`)
}

const causeOf = ({ error }: Failure) => (error as { cause?: unknown } | undefined)?.cause ?? error

function printFailure(failure: Failure): void {
  const { name, file, line } = failure
  const cause = causeOf(failure)
  const text = typeof cause === 'string' ? cause : inspect(cause, { depth: 8 })
  console.log(`\n✖ ${file}${line ? `:${line}` : ''}\n  ${name}\n${text.replaceAll(/^/gm, '    ')}`)
}

function printSkips(outcome: Outcome): void {
  const byReason = Map.groupBy(outcome.skipped, skip => skip.reason)
  for (const [reason, skips] of byReason) {
    console.log(`\nSKIPPED ${skips.length}: ${reason}`)
    for (const { file, name } of skips) console.log(`  ${file}: ${name}`)
  }
}

/** The last lines are what a cut log still shows: each says why, too. */
function printFailedLine(failure: Failure): void {
  const why = String(causeOf(failure))
  console.log(`  FAILED ${failure.file}: ${failure.name}`)
  console.log(`    ${why.trim().slice(0, 1_000).replaceAll('\n', '\n    ')}`)
}

export function printSummary(outcome: Outcome, startedAt: number): void {
  for (const failure of outcome.failed) printFailure(failure)
  const slowest = [...outcome.passed, ...outcome.failed]
    .sort((a, b) => b.durationMs - a.durationMs)
    .slice(0, 20)
  console.log(`\nSlowest ${slowest.length} tests`)
  for (const test of slowest)
    console.log(`  ${seconds(test.durationMs).padStart(8)}  ${test.file}: ${test.name}`)
  printSkips(outcome)
  const { passed, failed, skipped, files } = outcome
  const counts = `${passed.length} passed, ${failed.length} failed, ${skipped.length} skipped`
  console.log(`\n${counts} in ${files.size} files, ${seconds(Date.now() - startedAt)}`)
  for (const failure of failed) printFailedLine(failure)
}
