import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { ensureServices, environmentOf, serviceNames } from '../../../../scripts/services/services.ts'
import { killRunningFiles } from '../../../../scripts/test/run-file.ts'
import { mutants } from './list/index.ts'
import { type MutantReport, runMutants } from './run-mutants.ts'
import { runStryker } from './run-stryker.ts'

const usage = `Usage: npm run mutants -- [words…] [--jobs 2] [--semantic] [--deciders] [--list] [--json]
Breaks the shipped code in small ways and expects a named test to fail. Words select mutants by name, file or test.
  --semantic   only the listed mutants of the spine, the SQL and the drivers
  --deciders   only Stryker over the pure deciders`

const root = dirname(dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url))))))

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    jobs: { type: 'string', default: '2' },
    semantic: { type: 'boolean', default: false },
    deciders: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

const log = (line: string) => console.error(line)

async function semantic(): Promise<MutantReport> {
  const chosen = mutants.filter(
    ({ name, file, test }) =>
      positionals.length === 0 || positionals.some(word => `${name} ${file} ${test}`.includes(word)),
  )
  const services = await ensureServices(serviceNames, { log })
  const env = { ...process.env, ...environmentOf(services), ONCEWARD_METRICS_PORT: '0' }
  return runMutants(chosen, { root, env, jobs: Number(values.jobs), timeoutMs: 300_000, log })
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    killRunningFiles()
    process.exit(130)
  })
}

if (values.help) console.log(usage)
else if (values.list) for (const { name, test, title } of mutants) console.log(`${name}: ${test} "${title}"`)
else {
  const both = values.semantic === values.deciders
  const reports: MutantReport[] = []
  if (both || values.semantic) reports.push(await semantic())
  if (values.deciders || (both && positionals.length === 0))
    reports.push(await runStryker({ root, jobs: Number(values.jobs), words: positionals, log }))
  const report = {
    mutants: reports.reduce((sum, one) => sum + one.mutants, 0),
    caught: reports.reduce((sum, one) => sum + one.caught, 0),
    survivors: reports.flatMap(one => one.survivors),
  }
  if (values.json) console.log(JSON.stringify(report))
  else console.log(`${report.caught} of ${report.mutants} mutants caught`)
  process.exitCode = reports.every(({ ok }) => ok) ? 0 : 1
}
