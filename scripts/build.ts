import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildConsole } from './build/build-console.ts'
import { bundle } from './build/bundle.ts'
import { dropUnreachedTypes } from './build/drop-unreached-types.ts'
import { keepLinesOfMaps } from './build/line-maps.ts'
import { writeRequireDoors } from './build/require-doors.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const home = join(root, 'packages', 'onceward')
const dist = join(home, 'dist')

/** The pages that errors and findings name. All of them would be a tenth of the package: they are on the web. */
const packedPages = ['checks', 'failure', 'guarantees', 'operations', 'retention', 'security'].map(
  name => `${name}.md`,
)

/** npm packs only files of the package's own folder; the texts are kept once, at the root. */
function copyTexts(): void {
  for (const name of ['README.md', 'LICENSE']) cpSync(join(root, name), join(home, name))
  rmSync(join(home, 'docs'), { recursive: true, force: true })
  for (const name of packedPages) cpSync(join(root, 'docs', name), join(home, 'docs', name))
}

rmSync(dist, { recursive: true, force: true })
const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
const project = join(home, 'tsconfig.build.json')
const { status } = spawnSync(process.execPath, [compiler, '-p', project], { cwd: root, stdio: 'inherit' })
if (status === 0) {
  await bundle(home)
  keepLinesOfMaps(dist)
  copyTexts()
  dropUnreachedTypes(home)
  writeRequireDoors(home)
  chmodSync(join(dist, 'cli', 'main.js'), 0o755)
  console.log('Built packages/onceward/dist')
  process.exitCode = buildConsole()
} else {
  rmSync(dist, { recursive: true, force: true })
  console.error('The build failed (the errors are above); no dist folder was left behind.')
  process.exitCode = status ?? 1
}
