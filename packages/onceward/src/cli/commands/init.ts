import { resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { Command, Option } from 'commander'
import { OncewardError } from '../../errors.ts'
import { fileName } from '../init/file-name.ts'
import { type ExistingProject, existingProject, joinedFiles } from '../init/join-project.ts'
import { type InitOrm, initOrms } from '../init/orm-text.ts'
import {
  dependenciesOf,
  devDependencies,
  type InitSource,
  initRisks,
  initSources,
  type ProjectAnswers,
  projectFiles,
} from '../init/project.ts'
import { writeProject } from '../init/write-project.ts'
import { print } from '../output.ts'
import { packageVersion } from '../version.ts'

interface InitFlags {
  name?: string
  owner?: string
  risk?: string
  source?: InitSource
  orm?: InitOrm
  dryRun?: boolean
  json?: boolean
}

export function initCommand(): Command {
  return new Command('init')
    .description('write a small project: a consumer, its policy, a test and a compose file for its servers')
    .argument(
      '[folder]',
      'folder of the project; created if missing. In an existing project, a folder named after the consumer is added',
      '.',
    )
    .option('--name <name>', 'consumer name: lower case letters, digits, underscores')
    .option('--owner <team>', 'team that owns it')
    .addOption(new Option('--risk <risk>', 'what a wrong effect costs').choices(initRisks))
    .addOption(
      new Option('--source <source>', 'source of the messages. Default postgres').choices(initSources),
    )
    .addOption(
      new Option('--orm <library>', 'library of the handler. Default none, or what the project has').choices(
        initOrms,
      ),
    )
    .option('--dry-run', 'list the files without writing them')
    .option('--json', 'print one JSON object')
    .action(async (folder: string, flags: InitFlags) => {
      const project = existingProject(resolve(folder))
      const given = isComplete(flags) ? flags : await ask(flags)
      const answers = checked({ ...given, orm: flags.orm ?? project?.orm ?? 'none' })
      const made = projectFiles(answers, packageVersion)
      const files = project === null ? made : joinedFiles(made, fileName(answers), project.isModule)
      if (flags.dryRun !== true) await writeProject(resolve(folder), files)
      const names = Object.keys(files)
      print(
        flags.json === true,
        { ok: true, folder, dryRun: flags.dryRun === true, files: flags.dryRun === true ? files : names },
        () =>
          flags.dryRun === true
            ? `would write into ${folder}: ${names.join(', ')}`
            : [`wrote ${names.join(', ')}`, ...nextSteps(folder, answers, project)].join('\n'),
      )
    })
}

function nextSteps(folder: string, answers: ProjectAnswers, project: ExistingProject | null): string[] {
  const file = fileName(answers)
  if (project === null)
    return [`next: cd ${folder} && npm install && npm test; then read ${file}.ts and onceward.yaml`]
  const ending = project.isModule ? 'ts' : 'mts'
  const missing = (wanted: Readonly<Record<string, string>>) =>
    Object.keys(wanted)
      .filter(name => !project.dependencies.has(name))
      .map(name => `${name}@"${wanted[name]}"`)
      .join(' ')
  const needed = missing(dependenciesOf(answers, packageVersion))
  const forTests = missing(devDependencies)
  return [
    ...(needed === '' ? [] : [`next: npm install ${needed}`]),
    ...(forTests === '' ? [] : [`      npm install --save-dev ${forTests}`]),
    `      node --test ${file}/${file}.test.${ending}`,
    answers.orm === 'none'
      ? `      npx onceward run --embedded ${file}/${file}.${ending}   # keep .onceward/ out of git`
      : `      npx onceward run ${file}/${file}.${ending}   # with ONCEWARD_DATABASE_URL`,
  ]
}

function isComplete({ name, owner, risk }: InitFlags): boolean {
  return name !== undefined && owner !== undefined && risk !== undefined
}

/** Asks on a terminal. Elsewhere missing options are an error. */
async function ask(flags: InitFlags): Promise<InitFlags> {
  if (!process.stdin.isTTY || !process.stdout.isTTY || flags.json === true) {
    const missing = (['name', 'owner', 'risk'] as const).filter(one => flags[one] === undefined)
    throw new OncewardError(
      'usage',
      `Not interactive: pass ${missing.map(one => `--${one}`).join(', ')}. Nothing was written.`,
    )
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const closed = new AbortController()
  terminal.once('close', () => closed.abort())
  const question = async (text: string, otherwise: string) =>
    (await terminal.question(`${text} [${otherwise}] `, { signal: closed.signal })).trim() || otherwise
  try {
    return {
      ...flags,
      name: flags.name ?? (await question('Consumer name?', 'orders')),
      source:
        flags.source ?? ((await question(`Source (${initSources.join(', ')})?`, 'postgres')) as InitSource),
      owner: flags.owner ?? (await question('Team that owns it?', 'my-team')),
      risk: flags.risk ?? (await question(`Risk (${initRisks.join(', ')})?`, 'money')),
    }
  } catch (cause) {
    throw new OncewardError('usage', 'Cancelled. Nothing was written.', { cause })
  } finally {
    terminal.close()
  }
}

function checked({
  name = '',
  owner = '',
  risk = '',
  source = 'postgres',
  orm = 'none',
}: InitFlags): ProjectAnswers {
  const refuse = (why: string): never => {
    throw new OncewardError('usage', `${why} Nothing was written.`)
  }
  if (!/^[a-z][a-z0-9_]{0,47}$/.test(name))
    refuse('--name must begin with a letter and have at most 48 lower case letters, digits and underscores.')
  if (owner.trim() === '' || owner.length > 200) refuse('--owner must name a team.')
  if (!initRisks.includes(risk)) refuse(`--risk must be one of ${initRisks.join(', ')}.`)
  if (!initSources.includes(source)) refuse(`--source must be one of ${initSources.join(', ')}.`)
  return { name, owner: owner.trim(), risk, source, orm }
}
