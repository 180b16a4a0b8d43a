import { parseArgs } from 'node:util'
import {
  type FaultKind,
  faultKinds,
  runSimulation,
  type ScenarioName,
  simulationScenarios,
} from 'onceward/testing'
import { readable } from './readable.ts'

const usage = `Usage: npm run simulate -- [--schedules 1000] [--seed 1] [--scenario name] [--faults crash,freeze] [--json]
Runs the shipped engine through that many schedules of each scenario; ends at the first that breaks a promise.
Scenarios: ${Object.keys(simulationScenarios).join(', ')}.
Faults: ${faultKinds.join(', ')}; "" for none.`

const { values } = parseArgs({
  options: {
    schedules: { type: 'string', default: '1000' },
    seed: { type: 'string', default: '1' },
    scenario: { type: 'string' },
    faults: { type: 'string' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
const [schedules, seed] = [Number(values.schedules), Number(values.seed)]
const faults = values.faults?.split(',').filter(kind => kind !== '') as FaultKind[] | undefined
const names = Object.keys(simulationScenarios) as ScenarioName[]
const chosen = names.filter(name => values.scenario === undefined || name === values.scenario)
const isKnown = chosen.length > 0 && (faults ?? []).every(kind => faultKinds.includes(kind))
if (values.help || !isKnown || !Number.isInteger(schedules) || !Number.isInteger(seed)) {
  console.error(usage)
  process.exit(values.help ? 0 : 2)
}

const total = { schedules: 0, steps: 0, cpuSeconds: 0 }
const faultsFired: Record<string, number> = {}
let failed: object | null = null
for (const scenario of chosen) {
  const began = process.cpuUsage()
  const report = await runSimulation({ schedules, seed, scenario, ...(faults !== undefined && { faults }) })
  const { user, system } = process.cpuUsage(began)
  const cpuSeconds = (user + system) / 1e6
  total.schedules += report.schedules
  total.steps += report.steps
  total.cpuSeconds += cpuSeconds
  for (const [kind, count] of Object.entries(report.faultsFired))
    faultsFired[kind] = (faultsFired[kind] ?? 0) + count
  const rate = Math.round(report.schedules / cpuSeconds)
  console.error(
    `${report.failure ? 'FAIL' : 'ok  '}  ${scenario}: ${report.schedules} schedules, ${rate} per CPU second`,
  )
  if (report.failure === undefined) continue
  console.error(readable(report))
  const { trace: _, ...failure } = report.failure
  failed = { scenario, ...failure }
  break
}
const schedulesPerCpuSecond = Math.round(total.schedules / total.cpuSeconds)
const result = {
  scenarios: chosen.length,
  schedules: total.schedules,
  steps: total.steps,
  schedulesPerCpuSecond,
  faultsFired,
  failure: failed,
}
if (values.json) console.log(JSON.stringify(result))
else
  console.log(
    `${total.schedules} schedules, ${total.steps} steps, ${schedulesPerCpuSecond} schedules per CPU second`,
  )
process.exit(failed === null ? 0 : 1)
