import { spawnSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Declarations of the package's sources, in a new folder of the machine. Throws what the compiler reports. */
export function emitDeclarations(root: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'onceward-api-'))
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const project = join(root, 'packages', 'onceward', 'tsconfig.build.json')
  const args = [compiler, '-p', project, '--outDir', folder]
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  if (status !== 0) throw new Error(`The declarations cannot be written:\n${stdout}`)
  return folder
}
