import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildOnce, downloadFolder, whileLocked } from './cache-folders.ts'
import { findProgram, mustRun, needProgram, timed } from './run-command.ts'
import type { Log } from './service.ts'

/** 4.0 is Debian 13's, 4.3 Debian unstable's, which may have moved on by the time it is installed. */
export type RabbitmqVersion = '4.0' | '4.3'

const roots = {
  '4.0': { folder: 'debian-13-rabbitmq-4', suite: 'trixie', debian: 'Debian 13' },
  '4.3': { folder: 'debian-unstable-rabbitmq-4.3', suite: 'sid', debian: 'Debian unstable' },
} as const

export const systemRoot = (version: RabbitmqVersion = '4.0') => downloadFolder(roots[version].folder)

/** Throws the reason why no server can run here without Docker. */
export function assertRabbitmqPossible(): void {
  const what = 'running RabbitMQ 4 without Docker'
  if (process.platform !== 'linux')
    throw new Error(`${what} works on Linux only; start Docker or set ONCEWARD_RABBITMQ_URL`)
  if (process.getuid?.() !== 0)
    throw new Error(`${what} needs root (chroot); start Docker or set ONCEWARD_RABBITMQ_URL`)
  if (!existsSync(systemRoot()) && !findProgram('apt-get') && !findProgram('debootstrap')) {
    throw new Error(`${what} needs debootstrap; install it, start Docker or set ONCEWARD_RABBITMQ_URL`)
  }
}

export async function installRabbitmq(log: Log, version: RabbitmqVersion = '4.0'): Promise<void> {
  const root = systemRoot(version)
  if (existsSync(root)) return
  const { suite, debian } = roots[version]
  const say: Log = line => log(`rabbitmq: ${line}`)
  const debootstrap = await needProgram('debootstrap', ['debootstrap', 'debian-archive-keyring'], say)
  await timed(say, `installing ${debian} packages (about 70 MB to download, 370 MB on disk, once)`, () =>
    buildOnce(root, async partial => {
      await mustRun(debootstrap, ['--variant=minbase', '--include=rabbitmq-server', suite, partial])
      nameLocalhost(partial)
      assertVersion(partial, version)
    }),
  )
}

/** For test files, several of which may find it missing at the same time. */
export const installRabbitmqOnce = (version: RabbitmqVersion, log: Log): Promise<void> =>
  whileLocked(`rabbitmq-${version}`, log, () => installRabbitmq(log, version))

/** Without the name a node ends with "epmd error for host localhost: nxdomain". */
function nameLocalhost(root: string): void {
  const hosts = join(root, 'etc', 'hosts')
  if (existsSync(hosts) && readFileSync(hosts, 'utf8').includes('localhost')) return
  appendFileSync(hosts, '127.0.0.1 localhost\n')
}

function assertVersion(root: string, version: RabbitmqVersion): void {
  const status = readFileSync(join(root, 'var', 'lib', 'dpkg', 'status'), 'utf8')
  const installed = status.match(/^Package: rabbitmq-server\n(?:.+\n)*?Version: (.+)$/m)?.[1]
  if (installed?.startsWith(`${version}.`)) return
  throw new Error(`${roots[version].debian} has RabbitMQ ${installed ?? '(none)'}, not ${version}`)
}

/** The user whom the server runs as: it must be able to read what lies in `etc`. */
export function rabbitmqUser(version: RabbitmqVersion = '4.0'): { uid: number; gid: number } {
  const root = systemRoot(version)
  const line = readFileSync(join(root, 'etc', 'passwd'), 'utf8').match(/^rabbitmq:[^:]*:(\d+):(\d+):/m)
  if (!line) throw new Error(`${root} has no rabbitmq user: delete that folder and run services up again`)
  return { uid: Number(line[1]), gid: Number(line[2]) }
}
