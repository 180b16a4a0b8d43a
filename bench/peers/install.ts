import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { mustRun, timed } from '../../scripts/services/run-command.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))
const readJson = (path: string) => JSON.parse(readFileSync(path, 'utf8'))

/** Installs the pinned packages of bench/peers once; the library and `npm ci` of the repository need none. */
export async function installPeers(say: (line: string) => void): Promise<void> {
  const wanted: Record<string, string> = readJson(`${folder}package.json`).dependencies
  const missing = Object.entries(wanted).filter(([name, version]) => installedVersion(name) !== version)
  if (missing.length === 0) return
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund']
  await timed(say, 'installing the packages of bench/peers (75 MB, once)', () =>
    mustRun('npm', args, { cwd: folder }),
  )
}

function installedVersion(name: string): string | null {
  const path = `${folder}node_modules/${name}/package.json`
  return existsSync(path) ? readJson(path).version : null
}

/** pg-boss is a development dependency of the repository; the others are in bench/peers. */
export function versionOf(packageName: string): string {
  const own = installedVersion(packageName)
  if (own !== null) return own
  const entry = createRequire(import.meta.url).resolve(packageName)
  const root = entry.slice(0, entry.lastIndexOf(`node_modules/${packageName}`))
  return readJson(`${root}node_modules/${packageName}/package.json`).version
}
