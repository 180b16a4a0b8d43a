import { globSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { check } from './check.ts'
import {
  ensureServices,
  environmentOf,
  type Service,
  type ServiceName,
  serviceNames,
} from './services/services.ts'
import { Outcome } from './test/outcome.ts'
import { printFile, printSummary } from './test/print-outcome.ts'
import { killRunningFiles, runFile } from './test/run-file.ts'

const usage = `Usage: npm test [-- patterns…] [--no-check] [--services=postgres,rabbitmq,kafka|none] [--timeout=seconds]
A pattern selects the test files whose path contains it.`

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const concurrency = 3

const { values, positionals } = parseArgs({
  allowPositionals: true,
  allowNegative: true,
  options: {
    check: { type: 'boolean', default: true },
    services: { type: 'string', default: serviceNames.join(',') },
    timeout: { type: 'string', default: '600' },
    help: { type: 'boolean', default: false },
  },
})

function testFiles(): string[] {
  const patterns = ['packages/*/test/**/*.test.ts', 'examples/**/*.test.ts', 'scripts/**/*.test.ts']
  const exclude = (name: string) => name.includes('node_modules')
  const files = patterns.flatMap(pattern => globSync(pattern, { cwd: root, exclude })).sort()
  return positionals.length === 0
    ? files
    : files.filter(file => positionals.some(part => file.includes(part)))
}

async function haveServices(): Promise<Service[]> {
  const names = serviceNames.filter(name => values.services.split(',').includes(name))
  const services = await ensureServices(names, { log: line => console.log(line) })
  for (const service of services) {
    if ('unavailable' in service) console.log(`! ${service.name} is unavailable: ${service.unavailable}`)
    else console.log(`✔ ${service.name} (${service.via})`)
  }
  return services
}

/** Test files read why a service is absent from here and skip with that reason. */
function testEnvironment(services: Service[]): NodeJS.ProcessEnv {
  const reasons: Partial<Record<ServiceName, string>> = {}
  for (const name of serviceNames) {
    const service = services.find(one => one.name === name)
    if (!service) reasons[name] = `${name} was not selected (--services)`
    else if ('unavailable' in service) reasons[name] = `${name} is unavailable: ${service.unavailable}`
  }
  return {
    ...process.env,
    ...environmentOf(services),
    ONCEWARD_UNAVAILABLE: JSON.stringify(reasons),
    ONCEWARD_METRICS_PORT: '0',
  }
}

/** Files named `*.alone.test.ts` kill servers that others use: they run one by one, after the rest. */
async function runAll(files: string[], env: NodeJS.ProcessEnv): Promise<Outcome> {
  const outcome = new Outcome()
  const alone = files.filter(file => file.endsWith('.alone.test.ts'))
  await runFiles(
    outcome,
    files.filter(file => !alone.includes(file)),
    concurrency,
    env,
  )
  await runFiles(outcome, alone, 1, env)
  return outcome
}

async function runFiles(
  outcome: Outcome,
  files: string[],
  atOnce: number,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const queue = [...files]
  const worker = async () => {
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
      await runFile(outcome, file, { root, env, timeoutMs: Number(values.timeout) * 1000 })
      printFile(outcome, file)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

async function main(): Promise<number> {
  if (values.help) {
    console.log(usage)
    return 0
  }
  const startedAt = Date.now()
  if (values.check && !check()) return 1
  const files = testFiles()
  if (files.length === 0) {
    console.error(`No test file matches.\n${usage}`)
    return 1
  }
  const services = await haveServices()
  const outcome = await runAll(files, testEnvironment(services))
  printSummary(outcome, startedAt)
  const missing = services.filter(service => 'unavailable' in service).map(service => service.name)
  if (missing.length > 0) console.log(`\nMISSING SERVICES: ${missing.join(', ')}. Their tests did not run.`)
  return outcome.failed.length > 0 || (missing.length > 0 && process.env.CI === 'true') ? 1 : 0
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    killRunningFiles()
    process.exit(signal === 'SIGINT' ? 130 : 143)
  })
}
process.exitCode = await main()
