import { globSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { check } from './check.ts'
import { shortLived } from './services/kafka.ts'
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
import { inSuite } from './test/suite.ts'
import { TestDatabases } from './test/test-databases.ts'

const usage = `Usage: npm test [-- patterns…] [--fast] [--no-check] [--services=postgres,rabbitmq,kafka|none] [--timeout=seconds]
       npm run extended [-- patterns…]
       npm run cluster [-- patterns…]
A pattern selects the test files whose path contains it.
  --fast             lint, types, unit tests, simulator, conformance on memory and PostgreSQL: for use while editing
  npm run extended   what takes too long for every run: *.extended.test.ts and *.cluster.test.ts, one file at a time
  npm run cluster    *.cluster.test.ts alone`

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const concurrency = 4

const { values, positionals } = parseArgs({
  allowPositionals: true,
  allowNegative: true,
  options: {
    check: { type: 'boolean', default: true },
    services: { type: 'string' },
    timeout: { type: 'string', default: '600' },
    fast: { type: 'boolean', default: false },
    extended: { type: 'boolean', default: false },
    cluster: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

const suite = (['fast', 'extended', 'cluster'] as const).find(name => values[name]) ?? 'default'

function testFiles(): string[] {
  const patterns = [
    'packages/*/test/**/*.test.ts',
    'examples/**/*.test.ts',
    'chaos/**/*.test.ts',
    'scripts/**/*.test.ts',
  ]
  const exclude = (name: string) => name.includes('node_modules')
  const files = patterns
    .flatMap(pattern => globSync(pattern, { cwd: root, exclude }))
    .filter(file => inSuite(suite, file))
    .sort()
  return positionals.length === 0
    ? files
    : files.filter(file => positionals.some(part => file.includes(part)))
}

async function haveServices(): Promise<Service[]> {
  // A third less of the broker's processor time over one run. Benchmarks start theirs without.
  process.env.KAFKA_JVM_PERFORMANCE_OPTS ??= shortLived.join(' ')
  const wanted = values.services?.split(',') ?? (suite === 'fast' ? ['postgres'] : serviceNames)
  const names = serviceNames.filter(name => wanted.includes(name))
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

/** Where tests use no server: they run beside those that want the servers for themselves. */
const serverless = /\/test\/(unit|simulator|policy|review)\//

/** Files named `*.alone.test.ts` kill servers that others use: they run one by one, after the rest. */
async function runAll(files: string[], env: NodeJS.ProcessEnv): Promise<Outcome> {
  const outcome = new Outcome()
  const databases = new TestDatabases(env.ONCEWARD_POSTGRES_URL)
  const alone = files.filter(file => file.endsWith('.alone.test.ts'))
  const beside = files.filter(file => serverless.test(file))
  const runOne = async (file: string) => {
    const prefix = databases.nextFile()
    await runFile(outcome, file, {
      root,
      env: { ...env, ONCEWARD_TEST_DATABASES: prefix },
      timeoutMs: Number(values.timeout) * 1000,
    })
    databases.ended(prefix)
    printFile(outcome, file)
  }
  await runFiles(
    files.filter(file => !alone.includes(file) && !beside.includes(file)),
    suite === 'cluster' || suite === 'extended' ? 1 : concurrency,
    runOne,
  )
  await Promise.all([runFiles(alone, 1, runOne), runFiles(beside, concurrency - 1, runOne)])
  await databases.allEnded()
  return outcome
}

async function runFiles(
  files: string[],
  atOnce: number,
  runOne: (file: string) => Promise<void>,
): Promise<void> {
  const queue = [...files]
  const worker = async () => {
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) await runOne(file)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

/** While services start and the first files run: what it finds ends the run. */
async function checkBeside(): Promise<void> {
  if (await check()) return
  killRunningFiles()
  process.exit(1)
}

async function main(): Promise<number> {
  if (values.help) {
    console.log(usage)
    return 0
  }
  const startedAt = Date.now()
  const files = testFiles()
  if (files.length === 0) {
    console.error(`No test file matches.\n${usage}`)
    return 1
  }
  if (values.check) void checkBeside()
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
