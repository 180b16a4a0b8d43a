import { parseArgs } from 'node:util'
import type { CrashPoint } from 'onceward/testing'
import type { BrokerKind } from './brokers.ts'
import { runScenario } from './run-scenario.ts'
import { crashScenarios } from './scenarios.ts'

/** `npm run crash`: the crash suite by itself, with a line per run; `--json` ends with one object. */
const { values } = parseArgs({
  options: { json: { type: 'boolean' }, point: { type: 'string' }, broker: { type: 'string' } },
})
let runs = 0
let failed = 0
const points = new Set<string>()

for (const broker of ['postgres', 'rabbitmq', 'rabbitmq-stream'] as const) {
  if (values.broker !== undefined && values.broker !== broker) continue
  for (const [point, scenario] of Object.entries(crashScenarios)) {
    if (values.point !== undefined && values.point !== point) continue
    const reason = scenario.without?.[broker]
    if (reason !== undefined) console.error(`skip  ${broker} ${point}: ${reason}`)
    else for (const hit of scenario.hits) await run(point as CrashPoint, broker, hit)
  }
}
if (values.json) console.log(JSON.stringify({ points: points.size, runs, failed }))
else console.log(`${points.size} points, ${runs} runs, ${failed} failed`)
process.exit(failed === 0 && runs > 0 ? 0 : 1)

async function run(point: CrashPoint, broker: BrokerKind, hit: number): Promise<void> {
  runs++
  points.add(point)
  try {
    await runScenario(point, broker, hit)
    console.error(`ok    ${broker} ${point} passage ${hit}`)
  } catch (error) {
    failed++
    console.error(`FAIL  ${broker} ${point} passage ${hit}: ${error instanceof Error ? error.stack : error}`)
  }
}
