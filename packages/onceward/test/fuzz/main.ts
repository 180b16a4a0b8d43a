import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runFuzz } from './run-fuzz.ts'
import { findTarget, targetNames } from './targets/index.ts'

const usage = `Usage: npm run fuzz -- [--inputs 100000] [--seed 1] [--target name …] [--input file] [--json]
Gives varied bytes and texts to every decoder and every reader of texts. --inputs counts all targets together.
  --input   runs one file through the target, to repeat what was found
Targets: ${targetNames.join(', ')}.`

const { values } = parseArgs({
  options: {
    inputs: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    target: { type: 'string', multiple: true },
    input: { type: 'string' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
const [inputs, seed] = [Number(values.inputs), Number(values.seed)]
const chosen = targetNames.filter(name => values.target === undefined || values.target.includes(name))
if (values.help || chosen.length === 0 || !(inputs > 0) || !Number.isInteger(seed)) {
  console.error(usage)
  process.exit(values.help ? 0 : 2)
}

if (values.input !== undefined) {
  await (await findTarget(chosen[0]!)).check(readFileSync(values.input))
  console.log('The input is read, or refused as documented.')
  process.exit(0)
}

const report = await runFuzz(chosen, {
  inputs,
  seed,
  folder: join(process.cwd(), '.onceward', 'fuzz'),
  log: line => console.error(line),
})
const [crashes, hangs] = (['crash', 'hang'] as const).map(
  kind => report.findings.filter(finding => finding.kind === kind).length,
)
const result = { inputs: report.inputs, crashes, hangs }
console.log(
  values.json ? JSON.stringify(result) : `${report.inputs} inputs, ${crashes} crashes, ${hangs} hangs`,
)
process.exit(report.findings.length === 0 ? 0 : 1)
