import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { styleText } from 'node:util'
import { Command } from 'commander'
import type { ContractProblem } from '../../contract/contract-problems.ts'
import type { PolicyProblem } from '../../contract/policy/problem.ts'
import type { Policy } from '../../contract/policy/read-policy.ts'
import { errorCode, OncewardError } from '../../errors.ts'
import {
  type CheckReport,
  check,
  exitCodeOf,
  type LoadedContract,
  type LoadProblem,
} from '../../review/check.ts'
import type { LiveAccess } from '../../review/live/access.ts'
import { readSamples } from '../../review/samples/sample.ts'
import type { WaivedFinding, Waiver } from '../../review/waiver.ts'
import { inEnvironment } from '../../runtime/fixed-environment.ts'
import { findPolicy, loadContract, policyHelp } from '../../runtime/load-consumer.ts'
import { realEnvironment } from '../../runtime/real-environment.ts'
import { databaseAddress } from '../database.ts'
import { counted, oneLine, print } from '../output.ts'
import { serverAddresses } from '../server-addresses.ts'

interface CheckFlags {
  live?: boolean
  policy?: string
  nextSchema?: string
  samples?: string
  strict?: boolean
  json?: boolean
}

export function checkCommand(): Command {
  return new Command('check')
    .description(
      'review contracts; with --live, compare them with the broker and the database; changes nothing',
    )
    .argument('<files...>', 'modules whose default export is a consumer or a transform')
    .option('--live', 'query the broker and the database of the environment')
    .option('--policy <file>', policyHelp)
    .option('--samples <file>', 'messages as JSON lines, to try the identities of one contract on')
    .option('--next-schema <file>', 'with --live: the schema that the producer will send next')
    .option('--strict', 'treat warnings as errors')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Exit codes: 0 nothing wrong or all of it waived, 1 an error (with --strict a warning too), 2 wrong use.
Rules: docs/checks.md`,
    )
    .action(async (files: readonly string[], flags: CheckFlags) => {
      if (flags.samples !== undefined && files.length > 1)
        throw new OncewardError('usage', 'Samples belong to one contract: pass one file with --samples.')
      const nextSchema = await nextSchemaOf(files, flags)
      const samples = flags.samples === undefined ? [] : await readSamples(flags.samples)
      const loaded: LoadedContract[] = []
      const policies = await policiesOf(files, flags.policy)
      for (const file of files) loaded.push(await load(file, policies.get(folderOf(file)) ?? null, flags))
      const report = await check(loaded, {
        trial: { samples, inEnvironment },
        waivers: waiversOf(policies),
        today: new Date().toISOString().slice(0, 10),
        ...(flags.live && { live: { ...liveAccess(), nextSchema } }),
      })
      const code = exitCodeOf(report, flags.strict === true)
      print(flags.json === true, { ok: code === 0, ...report }, () => reportText(report))
      process.exitCode = code
    })
}

async function nextSchemaOf(
  files: readonly string[],
  { nextSchema, live }: CheckFlags,
): Promise<Buffer | undefined> {
  if (nextSchema === undefined) return undefined
  if (live !== true || files.length > 1)
    throw new OncewardError(
      'usage',
      'The next schema belongs to one contract and is compared with --live: pass one file with both.',
    )
  return readFile(nextSchema).catch(error => {
    throw new OncewardError(
      'usage',
      `${nextSchema} cannot be read (${errorCode(error)}). Nothing was checked.`,
    )
  })
}

/**
 * A missing file is invalid usage. A file that cannot be loaded is a finding, so that the others are still
 * checked.
 */
async function load(file: string, loaded: Policy | null, { live }: CheckFlags): Promise<LoadedContract> {
  try {
    return { file, consumer: (await loadContract(file, { loaded, looking: live !== true })) as never }
  } catch (error) {
    if (!(error instanceof OncewardError)) throw error
    if (error.code === 'usage' && /^(There is no file|The policy file)/.test(error.message)) throw error
    const problems = error.details.problems as readonly (ContractProblem | PolicyProblem)[] | undefined
    return { file, problems: problems?.map(problemText) ?? [{ text: error.message }] }
  }
}

function problemText(problem: ContractProblem | PolicyProblem): LoadProblem {
  if (!('line' in problem)) return { text: `${problem.place}: ${problem.text}` }
  const { file, line, column, key, text } = problem
  return { text: `${key} ${text}`.trim(), place: `${file}:${line}:${column}` }
}

const folderOf = (file: string) => dirname(resolve(file))

/** The policy file of each folder, read once. */
async function policiesOf(
  files: readonly string[],
  named: string | undefined,
): Promise<ReadonlyMap<string, Policy | null>> {
  const policies = new Map<string, Policy | null>()
  for (const file of files) {
    const folder = folderOf(file)
    if (!policies.has(folder)) policies.set(folder, await findPolicy(file, named))
  }
  return policies
}

function waiversOf(policies: ReadonlyMap<string, Policy | null>): Waiver[] {
  const all = [...policies.values()].flatMap(policy => policy?.waivers ?? [])
  return [...new Map(all.map(waiver => [waiver.place, waiver])).values()]
}

function liveAccess(): LiveAccess {
  return {
    databaseUrl: databaseAddress(),
    ...serverAddresses(),
    managementUrl: process.env.ONCEWARD_RABBITMQ_MANAGEMENT_URL,
    env: realEnvironment(),
    wallMs: Date.now,
  }
}

const colours = { error: 'red', warning: 'yellow', note: 'cyan' } as const

function reportText(report: CheckReport): string {
  const groups = Map.groupBy(report.findings, one => one.consumer ?? one.place)
  const sections = [...groups].map(([name, findings]) => {
    const rules = Map.groupBy(findings, one => `${one.id} ${one.waived === null}`)
    return [styleText('bold', oneLine(name)), ...[...rules.values()].map(ruleText)].join('\n')
  })
  return [...sections, summary(report)].join('\n\n')
}

/** All findings of one rule for one consumer, with its reason once. */
function ruleText(findings: readonly WaivedFinding[]): string {
  const { id, severity, reason, fix, link, waived } = findings[0]!
  const mark = waived === null ? styleText(colours[severity], severity) : styleText('gray', 'waived')
  const heads = findings.map(one => `  ${mark} ${id} ${oneLine(one.found)}`).join('\n')
  if (waived !== null)
    return `${heads}\n    until ${oneLine(waived.until)}, ${oneLine(waived.owner)}: ${oneLine(waived.reason)}`
  return `${heads}\n    ${reason}\n    ${styleText('gray', 'fix')} ${fix}\n    ${styleText('gray', link)}`
}

function summary({ contracts, live, counts, waived }: CheckReport): string {
  const parts = (['error', 'warning', 'note'] as const).map(severity => counted(counts[severity], severity))
  if (waived > 0) parts.push(`${waived} waived`)
  const scope = live ? 'with their servers' : 'as written; --live compares them with their servers'
  return `${counted(contracts, 'contract')} checked ${scope}: ${parts.join(', ')}`
}
