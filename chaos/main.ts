import { availableFaults } from './available-faults.ts'
import { cellName } from './cell.ts'
import { readOptions, usage } from './options.ts'
import { leftOut } from './plan/faults.ts'
import { appendRecord } from './record.ts'
import { repeatOptions } from './repeat.ts'
import type { CellResult } from './run-cell.ts'
import { runCells } from './run-cells.ts'
import { totalsOf } from './totals.ts'

const say = (line: string) => void process.stderr.write(`${line}\n`)

async function main(): Promise<number> {
  const args = process.argv.slice(2)
  if (args.includes('--help')) {
    console.log(usage)
    return 0
  }
  const options = readOptions(args)
  const abort = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => abort.abort(new Error(name)))
  const { available, clockLibrary } = await availableFaults(say)
  for (const { cell, kind, reason } of leftOut(options.cells, available))
    say(`skip  ${kind} on ${cellName(cell)}: ${reason}`)
  const found = (result: CellResult) => {
    print(result)
    if (options.record) appendRecord(result)
  }
  const results = await runCells(options, { available, clockLibrary, say, found }, abort.signal)
  const totals = totalsOf(results)
  const { ok, messages, lost, doubled, outOfOrder, unexplained } = totals
  if (options.json) console.log(JSON.stringify(totals))
  else
    console.log(
      `${ok ? 'ok' : 'FAILED'}: ${results.length} cells, ${messages} messages, ${lost} lost, ` +
        `${doubled} doubled, ${outOfOrder} out of order, ${unexplained} unexplained`,
    )
  return ok && !abort.signal.aborted ? 0 : 1
}

function print(result: CellResult): void {
  const { cell, seed, mode, ok, messages, seconds, happened, missed, verdict, folder } = result
  const faults = Object.values(happened).reduce((sum, times) => sum + times, 0)
  const what = `${cell} (${mode}, seed ${seed})`
  say(`${ok ? 'ok   ' : 'FAIL '} ${what}: ${messages} messages, ${faults} faults, ${seconds} s`)
  for (const kind of missed) say(`  planned and never staged: ${kind}`)
  for (const [name, found] of Object.entries(verdict) as [string, readonly string[]][])
    for (const one of found.slice(0, 10)) say(`  ${name}: ${one}`)
  if (ok) return
  say(`  everything is in ${folder}`)
  say(`  repeat it: npm run chaos -- ${repeatOptions(result).join(' ')}`)
}

try {
  process.exitCode = await main()
} catch (error) {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error))
  process.exitCode = 1
}
