import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { PostgresBinaries } from './postgres-binaries.ts'
import { commandOf, identify, type ProcessIdentity } from './process-identity.ts'
import { makeOwnedFolder, type UnprivilegedUser } from './unprivileged-user.ts'

const passwordFile = 'onceward.password'

function removeAbandonedPartials(dataDir: string): void {
  const prefix = `${basename(dataDir)}.partial-`
  for (const name of existsSync(dirname(dataDir)) ? readdirSync(dirname(dataDir)) : []) {
    const abandoned = name.startsWith(prefix) && !identify(Number(name.slice(prefix.length)))
    if (abandoned) rmSync(join(dirname(dataDir), name), { recursive: true, force: true })
  }
}

function runInitdb(binaries: PostgresBinaries, folder: string, user: UnprivilegedUser | undefined): void {
  const pwfile = join(folder, '..', `${basename(folder)}.pw`)
  writeFileSync(pwfile, `${randomBytes(18).toString('base64url')}\n`, { mode: 0o600 })
  if (user) chownSync(pwfile, user.uid, user.gid)
  const flags = ['--no-sync', '--encoding=UTF8', '--locale=C', '--username=postgres', '--auth=scram-sha-256']
  const { status, stderr, error } = spawnSync(
    binaries.initdb,
    ['--pgdata', folder, `--pwfile=${pwfile}`, ...flags],
    // The unprivileged user may not be able to read the caller's folder, and initdb reads its own.
    { ...user, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' },
  )
  if (status !== 0) {
    rmSync(pwfile, { force: true })
    throw new Error(
      `initdb failed in ${folder}: ${error?.message ?? stderr.trim()}. No data existed, none was lost.`,
      {
        cause: error,
      },
    )
  }
  renameSync(pwfile, join(folder, passwordFile))
}

/** Creates the cluster in a temporary folder and renames it, so that a partial one is never used. */
export function createDataFolder(
  binaries: PostgresBinaries,
  dataDir: string,
  user: UnprivilegedUser | undefined,
): void {
  removeAbandonedPartials(dataDir)
  const partial = `${dataDir}.partial-${process.pid}`
  makeOwnedFolder(partial, user)
  try {
    runInitdb(binaries, partial, user)
    renameSync(partial, dataDir)
  } catch (error) {
    rmSync(partial, { recursive: true, force: true })
    // Another process may have created it meanwhile: then that one is the data.
    if (!isDataFolder(dataDir)) throw error
  }
}

export function isDataFolder(dataDir: string): boolean {
  return existsSync(join(dataDir, 'PG_VERSION'))
}

export function assertMajorVersion(binaries: PostgresBinaries, dataDir: string): void {
  const made = readFileSync(join(dataDir, 'PG_VERSION'), 'utf8').trim()
  const major = binaries.version.split('.')[0]
  if (made === major) return
  throw new Error(
    `The data in ${dataDir} was made by PostgreSQL ${made}; the installed server is ${major}. Nothing was touched. ` +
      'Dump it with the old server and restore it here, or choose another data folder.',
  )
}

export function readPassword(dataDir: string): string {
  try {
    return readFileSync(join(dataDir, passwordFile), 'utf8').trim()
  } catch (cause) {
    throw new Error(
      `The password file ${join(dataDir, passwordFile)} cannot be read. The data is untouched. ` +
        'Run as the user who created the data folder, or restore that file.',
      { cause },
    )
  }
}

/** From postmaster.pid: the first line is the pid, the fourth the port. */
export function readPostmasterPid(dataDir: string): { pid: number; port: number } | undefined {
  try {
    const lines = readFileSync(join(dataDir, 'postmaster.pid'), 'utf8').split('\n')
    return { pid: Number(lines[0]), port: Number(lines[3]) }
  } catch {
    return undefined
  }
}

/** The running postmaster of this data folder, not another process that reuses its pid. */
export function findPostmaster(dataDir: string): (ProcessIdentity & { port: number }) | undefined {
  const file = readPostmasterPid(dataDir)
  const identity = file && identify(file.pid)
  if (!identity) return undefined
  if (process.platform !== 'win32' && !commandOf(identity.pid).includes(dataDir)) return undefined
  return { ...identity, port: file.port }
}

/**
 * PostgreSQL refuses to start while the pid in postmaster.pid exists, even if another process reuses it
 * (usual in containers, where every start counts pids from 1). Writing an impossible pid keeps the rest of
 * the file, which the server needs to check for orphan backends; deleting the file would lose it.
 */
export function disownReusedPid(dataDir: string): void {
  const file = readPostmasterPid(dataDir)
  if (!file || !identify(file.pid) || findPostmaster(dataDir)) return
  const path = join(dataDir, 'postmaster.pid')
  writeFileSync(path, readFileSync(path, 'utf8').replace(/^\d+/, '99999999'))
}
