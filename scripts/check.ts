import { spawnSync } from 'node:child_process'
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
]

/** Lint, format and types. True when all hold; each failing tool prints its own report. */
export function check(): boolean {
  return steps.every(({ name, script, args }) => {
    const started = Date.now()
    const { status } = spawnSync(process.execPath, [join(root, script), ...args], {
      cwd: root,
      stdio: 'inherit',
    })
    const seconds = ((Date.now() - started) / 1000).toFixed(1)
    console.log(`${status === 0 ? '✔' : '✖'} ${name} (${seconds} s)`)
    return status === 0
  })
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) process.exitCode = check() ? 0 : 1
