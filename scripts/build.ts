import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, cpSync, existsSync, globSync, mkdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildConsole } from './build/build-console.ts'
import { dropUnreachedTypes } from './build/drop-unreached-types.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const home = join(root, 'packages', 'onceward')
const dist = join(home, 'dist')

/** What the compiler leaves behind but the running package reads. */
function copyAssets(): void {
  for (const asset of globSync('src/**/*.{sql,json,html,css,svg}', { cwd: home })) {
    const target = join(dist, asset.slice('src/'.length))
    mkdirSync(dirname(target), { recursive: true })
    copyFileSync(join(home, asset), target)
  }
  for (const name of ['README.md', 'LICENSE', 'docs']) {
    // npm packs only files of the package's own folder; the texts are kept once, at the root.
    rmSync(join(home, name), { recursive: true, force: true })
    if (existsSync(join(root, name))) cpSync(join(root, name), join(home, name), { recursive: true })
  }
}

rmSync(dist, { recursive: true, force: true })
const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
const project = join(home, 'tsconfig.build.json')
const { status } = spawnSync(process.execPath, [compiler, '-p', project], { cwd: root, stdio: 'inherit' })
if (status === 0) {
  copyAssets()
  dropUnreachedTypes(home)
  const cli = join(dist, 'cli', 'main.js')
  if (existsSync(cli)) chmodSync(cli, 0o755)
  console.log('Built packages/onceward/dist')
  process.exitCode = buildConsole()
} else {
  rmSync(dist, { recursive: true, force: true })
  console.error('The build failed (the errors are above); no dist folder was left behind.')
  process.exitCode = status ?? 1
}
