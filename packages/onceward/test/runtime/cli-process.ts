import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const cliFlags = ['--conditions=@onceward/source', '--disable-warning=ExperimentalWarning']
export const cliMain = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const source = new URL('../../src/', import.meta.url).href

export interface CliEnd {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A folder with consumers in it, and the commands that are started there. */
export function openFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'onceward-start-'))
  const children = new Set<ReturnType<typeof spawn>>()
  const start = (
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    program: readonly string[] = [process.execPath, ...cliFlags, cliMain],
  ) => {
    const { NODE_TEST_CONTEXT: _, ...outside } = process.env
    const child = spawn(program[0]!, [...program.slice(1), ...args], {
      cwd: folder,
      env: { ...outside, ONCEWARD_METRICS_PORT: 'off', ...env },
    })
    children.add(child)
    const output = { stdout: '', stderr: '' }
    child.stdout.on('data', chunk => {
      output.stdout += chunk
    })
    child.stderr.on('data', chunk => {
      output.stderr += chunk
    })
    const ended = new Promise<CliEnd>(resolve =>
      child.once('close', code => {
        children.delete(child)
        resolve({ code, ...output })
      }),
    )
    return { child, output, ended }
  }
  return {
    folder,
    start,
    /** A consumer with this source, as an expression of `postgresQueue`, `queue`, `stream` or `topic`. */
    consumer(name: string, from: string, handle = '', more = '') {
      const path = join(folder, `${name}.ts`)
      writeFileSync(
        path,
        `import { defineConsumer } from '${source}index.ts'
import { postgresQueue } from '${source}postgres.ts'
import { queue } from '${source}drivers/rabbitmq/index.ts'
import { stream } from '${source}drivers/rabbitmq-stream/index.ts'
import { topic } from '${source}drivers/kafka/index.ts'
export default defineConsumer<{ id: string }>({ name: '${name}', owner: 'tests', risk: 'money', source: ${from},
  identity: { id: m => m.id }, ${more} async handle({ message, tx }) { ${handle} } })`,
      )
      return path
    },
    [Symbol.dispose]() {
      for (const child of children) child.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
