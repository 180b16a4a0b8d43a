import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

const steps = [
  {
    name: 'biome',
    script: 'node_modules/@biomejs/biome/bin/biome',
    args: ['check', '--log-level=warn', '.'],
  },
  { name: 'tsc', script: 'node_modules/typescript/bin/tsc', args: ['-p', 'tsconfig.json'] },
  {
    name: 'tsc, pages of the console',
    script: 'node_modules/typescript/bin/tsc',
    args: ['-p', 'packages/console/tsconfig.web.json'],
  },
]

/** Lint, format and types. True when all hold; each failing tool prints its own report. */
export async function check(): Promise<boolean> {
  return (await Promise.all(steps.map(runStep))).every(passed => passed)
}

async function runStep({ name, script, args }: (typeof steps)[number]): Promise<boolean> {
  const started = Date.now()
  const child = spawn(process.execPath, [join(root, script), ...args], { cwd: root, stdio: 'inherit' })
  const [status] = await once(child, 'exit')
  const seconds = ((Date.now() - started) / 1000).toFixed(1)
  console.log(`${status === 0 ? '✔' : '✖'} ${name} (${seconds} s)`)
  return status === 0
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) process.exitCode = (await check()) ? 0 : 1
