import { writeFile } from 'node:fs/promises'
import { Command } from 'commander'
import { durationMs } from '../../contract/duration.ts'
import { OncewardError } from '../../errors.ts'
import { policyHelp } from '../../runtime/load-consumer.ts'
import { type FaultClass, faultClasses } from '../../verify/fault.ts'
import { htmlText } from '../../verify/html.ts'
import { junitText } from '../../verify/junit.ts'
import { reportText } from '../../verify/report-text.ts'
import { verifyConsumer } from '../../verify/verify-consumer.ts'
import type { VerifyProgress } from '../../verify/verify-options.ts'
import { attachDatabase } from '../database.ts'
import { consoleLog, print, safe } from '../output.ts'

interface VerifyFlags {
  samples?: string
  captured?: boolean
  schema?: string
  migrate?: string
  policy?: string
  invariant?: string[]
  invariants?: string
  budget: string
  seed: string
  only?: string[]
  skip?: string[]
  fault?: string
  lines?: string
  allow?: string[]
  jobs: string
  json?: boolean
  junit?: string
  html?: string
}

export function verifyCommand(): Command {
  return new Command('verify')
    .description(
      'prove a consumer under crashes, races and replays, in scratch databases; compare every run with a clean one',
    )
    .argument('<file>', 'module whose default export is a consumer')
    .option('--samples <file>', 'messages as JSON lines. Default: generated from the schema of the contract')
    .option('--captured', 'messages that ONCEWARD_DATABASE_URL holds for the consumer; it is only read')
    .option('--schema <file>', 'SQL that creates the tables, such as a dump without data')
    .option('--migrate <command>', 'command that creates them in ONCEWARD_DATABASE_URL')
    .option('--invariant <select...>', 'query that must return no rows after every run')
    .option('--invariants <file>', 'module that exports invariants as functions')
    .option('--budget <time>', 'how long it may take, such as 90s or 2m', '2m')
    .option('--seed <number>', 'decides the order of faults and permutations', '1')
    .option('--only <class...>', 'only these classes of faults')
    .option('--skip <class...>', 'all classes but these')
    .option('--fault <name>', 'one fault, as a report names it')
    .option('--lines <numbers>', 'only these lines of the samples, such as 1,4')
    .option('--allow <host:port...>', 'servers that the handler may reach directly')
    .option('--jobs <number>', 'runs at a time', '2')
    .option('--policy <file>', policyHelp)
    .option('--junit <file>', 'write the report as JUnit XML')
    .option('--html <file>', 'write the report as a page')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Server: ONCEWARD_VERIFY_DATABASE_URL, else an embedded PostgreSQL in .onceward/verify-postgres. Only scratch
databases (onceward_verify_…) are created and dropped; a server of a named environment is refused.
Classes: ${Object.keys(faultClasses).join(', ')}.
Exit codes: 0 survived, 1 did not survive or a class was not staged, 2 wrong use.`,
    )
    .action(async (file: string, flags: VerifyFlags) => {
      const interrupted = new AbortController()
      const interrupt = () =>
        interrupted.abort(new OncewardError('usage', 'Interrupted. Nothing was proven.'))
      for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, interrupt)
      const report = await verifyConsumer({
        file,
        signal: interrupted.signal,
        samples: flags.samples,
        capturedFrom: flags.captured ? (await attachDatabase(consoleLog(false))).url : undefined,
        schema: flags.schema,
        migrate: flags.migrate,
        policy: flags.policy,
        invariants: Object.fromEntries((flags.invariant ?? []).map((text, at) => [`${at + 1}`, text])),
        invariantsFile: flags.invariants,
        budgetMs: budgetOf(flags.budget),
        seed: wholeNumber(flags.seed, '--seed'),
        jobs: wholeNumber(flags.jobs, '--jobs'),
        only: classesOf(flags.only, ['leak']),
        skip: classesOf(flags.skip, []),
        fault: flags.fault,
        lines: flags.lines?.split(',').map(text => wholeNumber(text, '--lines')),
        allow: flags.allow,
        onProgress: progressLine(flags.json === true),
      })
      if (flags.junit !== undefined) await writeFile(flags.junit, junitText(report))
      if (flags.html !== undefined) await writeFile(flags.html, htmlText(report))
      print(
        flags.json === true,
        { ok: report.ok, survived: report.survived, of: report.of, failures: report.failures },
        () => safe(reportText(report, textWidth())),
      )
      process.exitCode = report.ok ? 0 : 1
    })
}

const help = 'Nothing was run; see "onceward verify --help".'

function budgetOf(text: string): number {
  const ms = durationMs(text)
  if (ms !== null && ms > 0) return ms
  throw new OncewardError('usage', `--budget ${text} is not a time such as 90s or 2m. ${help}`)
}

function wholeNumber(text: string, option: string): number {
  if (/^[1-9]\d{0,8}$/.test(text.trim())) return Number(text)
  throw new OncewardError('usage', `${option} takes whole numbers from 1. ${help}`)
}

function classesOf<More extends string>(
  names: readonly string[] | undefined,
  more: readonly More[],
): (FaultClass | More)[] | undefined {
  const known: readonly string[] = [...Object.keys(faultClasses), ...more]
  const wrong = names?.find(name => !known.includes(name))
  if (wrong === undefined) return names as (FaultClass | More)[] | undefined
  throw new OncewardError('usage', `"${wrong}" is not a class of faults: ${known.join(', ')}. ${help}`)
}

/** On a terminal one line that changes; elsewhere a line every ten faults. */
function progressLine(json: boolean): (progress: VerifyProgress) => void {
  return ({ done, of, failed, secondsLeft }) => {
    const text = `${done} of ${of} faults, ${failed} failed, about ${secondsLeft} s left`
    if (process.stderr.isTTY && !json) process.stderr.write(`\r${text.padEnd(70)}${done === of ? '\n' : ''}`)
    else if (done % 10 === 0 || done === of) process.stderr.write(`${text}\n`)
  }
}

/** The terminal's width within reason; 80 where there is none. */
function textWidth(): number {
  const { isTTY, columns = 80 } = process.stdout
  return isTTY ? Math.min(Math.max(columns, 60), 120) : 80
}
