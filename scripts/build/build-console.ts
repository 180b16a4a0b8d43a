import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const home = join(root, 'packages', 'console')
const dist = join(home, 'dist')

/** The server by the compiler, then the pages by Vite. Needs the built `onceward`. Returns an exit code. */
export function buildConsole(): number {
  rmSync(join(dist, 'server'), { recursive: true, force: true })
  const compiled = run('typescript/bin/tsc', ['-p', join(home, 'tsconfig.build.json')])
  const status = compiled === 0 ? buildPages() : compiled
  if (status === 0) {
    chmodSync(join(dist, 'server', 'main.js'), 0o755)
    copyFileSync(join(root, 'LICENSE'), join(home, 'LICENSE'))
    console.log('Built packages/console/dist')
  } else rmSync(dist, { recursive: true, force: true })
  return status
}

/** Writes `dist/web`, which consoles of other processes may serve meanwhile. Returns an exit code. */
export function buildPages(): number {
  const [web, next] = [join(dist, 'web'), join(dist, 'web.next')]
  const status = run('vite/bin/vite.js', ['build', '-c', join(home, 'vite.config.ts'), '--outDir', next])
  if (status !== 0) return status
  rmSync(web, { recursive: true, force: true })
  renameSync(next, web)
  return 0
}

function run(tool: string, args: readonly string[]): number {
  const script = join(root, 'node_modules', tool)
  return spawnSync(process.execPath, [script, ...args], { cwd: root, stdio: 'inherit' }).status ?? 1
}
