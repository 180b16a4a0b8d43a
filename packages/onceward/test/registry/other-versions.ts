import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export const readJson = (path: string | URL) => JSON.parse(readFileSync(path, 'utf8'))
const manifest = readJson(new URL('../../package.json', import.meta.url))
const root = readJson(new URL('../../../../package.json', import.meta.url))

/** The range of an optional peer, and the version the repository's tests run with. */
export function peer(name: string): { readonly range: string; readonly here: string } {
  return {
    range: manifest.peerDependencies[name],
    here: root.dependencies[name] ?? root.devDependencies[name],
  }
}

/** Installs one version into a folder of its own, which is gone afterwards. */
export async function withVersion(
  name: string,
  version: string,
  look: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'onceward-version-'))
  try {
    writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}')
    const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']
    await run('npm', ['install', ...flags, `${name}@${version}`], { cwd: folder })
    assert.equal(readJson(join(folder, 'node_modules', name, 'package.json')).version, version)
    await look(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The newest version in the registry, or why nobody can say. */
export async function newestOf(name: string): Promise<{ version: string } | { skip: string }> {
  try {
    const { stdout } = await run('npm', ['view', name, 'version'], { timeout: 30_000 })
    return { version: stdout.trim() }
  } catch (error) {
    return { skip: `the registry does not answer: ${(error as Error).message.split('\n')[0]}` }
  }
}
