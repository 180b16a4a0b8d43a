import { join } from 'node:path'
import ts from 'typescript'
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
 * All blocks as modules of one program, against the package's own sources. A block marked `contract` is a part of a contract, one marked
 * `handler` stands in a handler; what they import comes first. Answers with the compiler's complaints, by page and line.
 */
export function typeProblems(blocks: readonly Block[]): string[] {
  const folder = join(root, 'packages/onceward/test/docs/blocks')
  const modules = new Map(blocks.map((block, at) => [join(folder, slug(block), nameOf(block, at)), block]))
  const options = compilerOptions()
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile, getSourceFile } = host
  const texts = new Map([...modules].map(([path, block]) => [path, moduleText(block)]))
  host.fileExists = path => texts.has(path) || fileExists(path)
  host.directoryExists = path => path.startsWith(folder) || ts.sys.directoryExists(path)
  host.readFile = path => texts.get(path) ?? readFile(path)
  host.getSourceFile = (path, ...rest) =>
    texts.has(path) ? ts.createSourceFile(path, texts.get(path)!, rest[0]) : getSourceFile(path, ...rest)
  const program = ts.createProgram([...texts.keys()], options, host)
  return [...modules].flatMap(([path, block]) => {
    const file = program.getSourceFile(path)!
    const found = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]
    return found.map(one => {
      const line = ts.getLineAndCharacterOfPosition(file, one.start ?? 0).line - linesBefore(block)
      return `${placeOf({ ...block, line: block.line + line })} ${ts.flattenDiagnosticMessageText(one.messageText, '\n')}`
    })
  })
}

const slug = ({ page }: Block): string => page.replaceAll(/[^a-z0-9]+/gi, '-')

/** Blocks of a page that begin with a file's name may import each other by it. */
const nameOf = ({ code }: Block, at: number): string =>
  /^\/\/ (\S+\.ts)\n/.exec(code)?.[1] ?? `block-${at}.ts`

function compilerOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent({ ...config, files: [], include: [] }, ts.sys, root)
  return { ...options, noUnusedLocals: false, noUnusedParameters: false, noImplicitAny: false }
}

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
