import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { promisify } from 'node:util'
import { type Block, placeOf, root } from './pages.ts'

const before: Record<string, string> = {
  contract: `import type { ConsumerContract } from 'onceward'
// biome-ignore lint: shaped by the reader's own message
export const part = {`,
  handler: `import type { HandlerContext, SqlTransaction } from 'onceward'
export async function handle({ message, tx, effects, envelope, mode, signal, log }: HandlerContext<any, SqlTransaction>): Promise<unknown> {
void [message, tx, effects, envelope, mode, signal, log]`,
}
const after: Record<string, string> = {
  contract: '\n} satisfies Partial<ConsumerContract<any>>',
  handler: '\nreturn undefined\n}',
}

/**
 * All blocks as modules of one program, against the package's own sources. A block marked `contract` is a
 * part of a contract, one marked `handler` stands in a handler; what they import comes first. Answers with
 * the compiler's complaints, by page and line.
 */
export async function typeProblems(blocks: readonly Block[]): Promise<string[]> {
  // Below node_modules, where the package is found by its name and neither lint nor git looks.
  const cache = join(root, 'node_modules', '.cache')
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, 'onceward-blocks-'))
  try {
    const modules = new Map(blocks.map((block, at) => [join(slug(block), nameOf(block, at)), block]))
    for (const [path, block] of modules) await writeModule(join(folder, path), moduleText(block))
    await writeModule(join(folder, 'package.json'), '{ "type": "module" }')
    await writeModule(join(folder, 'tsconfig.json'), JSON.stringify(project))
    return problemsIn(await compilerSays(folder), modules)
  } finally {
    await rm(folder, { recursive: true })
  }
}

const project = {
  extends: join(root, 'tsconfig.json'),
  compilerOptions: { noUnusedLocals: false, noUnusedParameters: false, noImplicitAny: false },
  include: ['**/*.ts'],
}

async function writeModule(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
}

async function compilerSays(folder: string): Promise<string> {
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const said = promisify(execFile)(process.execPath, [compiler, '-p', folder, '--pretty', 'false'], {
    cwd: folder,
  })
  return said.then(
    () => '',
    (error: { stdout?: string; message: string }) => error.stdout || error.message,
  )
}

/**
 * One problem for each line `path(line,column): error TS1: text`; lines that begin with a space go on with
 * the last.
 */
function problemsIn(said: string, modules: ReadonlyMap<string, Block>): string[] {
  return said
    .split(/\n(?! )/)
    .filter(Boolean)
    .map(problem => {
      const [, path = '', line, text] = /^(.+)\((\d+),\d+\): error \w+: ([\s\S]*)$/.exec(problem) ?? []
      const block = modules.get(normalize(path))
      if (block === undefined) return problem
      return `${placeOf({ ...block, line: block.line + Number(line) - 1 - linesBefore(block) })} ${text}`
    })
}

const slug = ({ page }: Block): string => page.replaceAll(/[^a-z0-9]+/gi, '-')

/** Blocks of a page that begin with a file's name may import each other by it. */
const nameOf = ({ code }: Block, at: number): string =>
  /^\/\/ (\S+\.ts)\n/.exec(code)?.[1] ?? `block-${at}.ts`

function imports(code: string): string {
  return (code.match(/^import [^;]*? from '[^']+'\n/gm) ?? []).join('')
}

function moduleText({ marks, code }: Block): string {
  if (before[marks] === undefined) return code.includes('export ') ? code : `${code}\nexport {}\n`
  return `${imports(code)}${before[marks]}\n${code.replace(imports(code), '')}${after[marks]}`
}

/** Imports move to the front of a wrapped block, so only lines after them keep their number. */
function linesBefore({ marks }: Block): number {
  return before[marks] === undefined ? 0 : before[marks].split('\n').length
}
