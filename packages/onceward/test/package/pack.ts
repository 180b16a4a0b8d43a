import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export const root = fileURLToPath(new URL('../../../../', import.meta.url))
export const run = promisify(execFile)

export interface Packed {
  readonly tarball: string
  /** Bytes of the tarball. */
  readonly size: number
  readonly paths: readonly string[]
  readonly remove: () => void
}

/** Builds every package, as a release does. */
export async function build(): Promise<void> {
  await run(process.execPath, ['--conditions=@onceward/source', join(root, 'scripts', 'build.ts')], {
    cwd: root,
  })
}

/** Packs a package that was built. */
export async function pack(name: 'onceward' | 'console'): Promise<Packed> {
  const folder = mkdtempSync(join(tmpdir(), 'onceward-packed-'))
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], {
    cwd: join(root, 'packages', name),
  })
  const [{ filename, files, size }] = JSON.parse(stdout) as [
    { filename: string; files: { path: string }[]; size: number },
  ]
  return {
    tarball: join(folder, filename),
    size,
    paths: files.map(file => file.path),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** An empty project as `npm init -y` of npm 11 writes it: its modules are CommonJS. */
export async function emptyProject(tarball: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'onceward-package-'))
  await run('npm', ['init', '-y'], { cwd: folder })
  await install(folder, [tarball])
  return folder
}

export async function install(folder: string, packages: readonly string[]): Promise<void> {
  const quietly = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline']
  await run('npm', ['install', ...quietly, ...packages], { cwd: folder })
}

/** Type-checks files as a strict project would that checks the declarations of its libraries too. */
export async function compile(folder: string, include: readonly string[], options = {}): Promise<string> {
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2024',
    strict: true,
    noEmit: true,
    skipLibCheck: false,
    types: ['node'],
    typeRoots: [join(root, 'node_modules', '@types')],
    ...options,
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include }))
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  return run(process.execPath, [compiler, '-p', folder]).then(
    () => '',
    error => String(error.stdout),
  )
}
