import { parseArgs } from 'node:util'
import { brokerKinds } from './brokers.ts'
import { runScenario } from './run-scenario.ts'
import { type CrashRun, runsOn } from './scenarios.ts'

/** `npm run crash`: the crash suite by itself, with a line per run; `--json` ends with one object. */
const { values } = parseArgs({
  options: { json: { type: 'boolean' }, point: { type: 'string' }, broker: { type: 'string' } },
})
let runs = 0
let failed = 0
const points = new Set<string>()

for (const broker of brokerKinds) {
  if (values.broker !== undefined && values.broker !== broker) continue
  const wanted = (point: string) => values.point === undefined || values.point === point
  const planned = runsOn(broker)
  for (const [point, reason] of planned.skipped)
    if (wanted(point)) console.error(`skip  ${broker} ${point}: ${reason}`)
  for (const one of planned.runs) if (wanted(one.point)) await run(one)
}
if (values.json) console.log(JSON.stringify({ points: points.size, runs, failed }))
else console.log(`${points.size} points, ${runs} runs, ${failed} failed`)
process.exit(failed === 0 && runs > 0 ? 0 : 1)

async function run({ point, broker, hit, memory }: CrashRun): Promise<void> {
  runs++
  points.add(point)
  const name = `${broker} ${point} passage ${hit}${memory === 'after effect' ? '' : `, ${memory}`}`
  const began = performance.now()
  try {
    await runScenario(point, broker, hit, memory)
    console.error(`ok    ${name} (${((performance.now() - began) / 1_000).toFixed(1)} s)`)
  } catch (error) {
    failed++
    console.error(`FAIL  ${name}: ${error instanceof Error ? error.stack : error}`)
  }
}
