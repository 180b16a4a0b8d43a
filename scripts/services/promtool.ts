import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { buildOnce, downloadFolder, whileLocked } from './cache-folders.ts'
import { findProgram, mustRun, timed } from './run-command.ts'
import type { Log } from './service.ts'

export type Promtool = { path: string } | { unavailable: string }

const byHand = 'install promtool (Debian: the package prometheus) or put it on the PATH'

/**
 * The one on the PATH, or Debian's, taken out of its package without installing the server that comes with
 * it.
 */
export async function ensurePromtool(options: { log?: Log } = {}): Promise<Promtool> {
  const log: Log = line => options.log?.(`promtool: ${line}`)
  try {
    return { path: findProgram('promtool') ?? (await whileLocked('promtool', log, () => fetched(log))) }
  } catch (error) {
    return { unavailable: (error as Error).message }
  }
}

async function fetched(log: Log): Promise<string> {
  const path = join(downloadFolder('promtool'), 'promtool')
  if (existsSync(path)) return path
  if (!findProgram('apt-get') || !findProgram('dpkg-deb')) throw new Error(`promtool is missing: ${byHand}`)
  await timed(log, 'downloading it with the Debian package prometheus (19 MB, once)', () =>
    buildOnce(downloadFolder('promtool'), extract),
  )
  return path
}

async function extract(partial: string): Promise<void> {
  const work = join(partial, 'package')
  mkdirSync(work)
  await download(work)
  const file = readdirSync(work).find(name => name.endsWith('.deb'))
  if (file === undefined) throw new Error(`apt-get brought no package: ${byHand}`)
  await mustRun('dpkg-deb', ['-x', join(work, file), work])
  copyFileSync(join(work, 'usr', 'bin', 'promtool'), join(partial, 'promtool'))
  rmSync(work, { recursive: true })
}

/** Lists of packages may be absent or too old to name what the mirror has now; only root may renew them. */
async function download(cwd: string): Promise<void> {
  try {
    await mustRun('apt-get', ['download', '-q', 'prometheus'], { cwd })
  } catch (error) {
    if (process.getuid?.() !== 0) throw new Error(`${(error as Error).message}; ${byHand}`)
    await mustRun('apt-get', ['update', '-q'])
    await mustRun('apt-get', ['download', '-q', 'prometheus'], { cwd })
  }
}
