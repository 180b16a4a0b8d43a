import { chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { commandOf, type ProcessIdentity } from '../../packages/onceward/src/embedded/process-identity.ts'
import { buildOnce, downloadFolder } from './cache-folders.ts'
import { exchange, isListening } from './network.ts'
import { findProgram, mustRun, needProgram, timed } from './run-command.ts'
import { processesWithEnvironment } from './server-process.ts'
import type { Log } from './service.ts'

/** One RabbitMQ server from the Debian system root: the shared one, or one of a test's own. */
export interface RabbitmqNode {
  /** Unique on this machine: the server's processes are found by it. */
  readonly name: string
  /** Has the folders `data`, `log` and `etc`, which the server sees as its own; `etc` is `/etc/rabbitmq`. */
  readonly folder: string
  readonly ports: {
    readonly amqp: number
    readonly management: number
    readonly stream: number
    readonly erlangDistribution: number
    readonly epmd: number
  }
  /** Lines of rabbitmq.conf beside ours. */
  readonly configuration?: readonly string[]
  /** Plugins beside management and streams. */
  readonly plugins?: readonly string[]
}

const systemRoot = () => downloadFolder('debian-13-rabbitmq-4')
const stateFolders = ['data', 'log', 'etc'] as const
const assignment = (name: string) => `ONCEWARD_SERVICE=${name}`

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

export async function installRabbitmq(log: Log): Promise<void> {
  if (existsSync(systemRoot())) return
  const say: Log = line => log(`rabbitmq: ${line}`)
  const debootstrap = await needProgram('debootstrap', ['debootstrap', 'debian-archive-keyring'], say)
  await timed(say, 'installing Debian 13 packages (about 70 MB to download, 370 MB on disk, once)', () =>
    buildOnce(systemRoot(), async partial => {
      await mustRun(debootstrap, ['--variant=minbase', '--include=rabbitmq-server', 'trixie', partial])
    }),
  )
}

/** The user whom the server runs as: it must be able to read what lies in `etc`. */
export function rabbitmqUser(): { uid: number; gid: number } {
  const line = readFileSync(join(systemRoot(), 'etc', 'passwd'), 'utf8').match(
    /^rabbitmq:[^:]*:(\d+):(\d+):/m,
  )
  if (!line)
    throw new Error(`${systemRoot()} has no rabbitmq user: delete that folder and run services up again`)
  return { uid: Number(line[1]), gid: Number(line[2]) }
}

export function writeNodeState(node: RabbitmqNode): void {
  const { uid, gid } = rabbitmqUser()
  for (const kind of stateFolders) {
    mkdirSync(join(node.folder, kind), { recursive: true, mode: 0o755 })
    chownSync(join(node.folder, kind), uid, gid)
  }
  const lines = [...baseConfiguration(node), ...(node.configuration ?? [])]
  writeFileSync(join(node.folder, 'etc', 'rabbitmq.conf'), lines.map(line => `${line}\n`).join(''))
  const plugins = [
    'rabbitmq_management',
    'rabbitmq_stream',
    'rabbitmq_stream_management',
    ...(node.plugins ?? []),
  ]
  writeFileSync(join(node.folder, 'etc', 'enabled_plugins'), `[${plugins.join(',')}].\n`)
}

const baseConfiguration = ({ ports }: RabbitmqNode): string[] => [
  `listeners.tcp.1 = 127.0.0.1:${ports.amqp}`,
  'management.tcp.ip = 127.0.0.1',
  `management.tcp.port = ${ports.management}`,
  `stream.listeners.tcp.1 = 127.0.0.1:${ports.stream}`,
  'stream.advertised_host = 127.0.0.1',
  `stream.advertised_port = ${ports.stream}`,
  'loopback_users.guest = true',
  'vm_memory_high_watermark.relative = 0.6',
  'disk_free_limit.absolute = 50MB',
  'log.console = false',
  'log.file = rabbit.log',
  'log.file.level = warning',
]

/** All mounts are made in a mount namespace of its own and vanish with its last process. */
const launchScript = `set -e
mount -t proc proc "$1/proc"
mount --bind "$2/data" "$1/var/lib/rabbitmq"
mount --bind "$2/log" "$1/var/log/rabbitmq"
mount --bind "$2/etc" "$1/etc/rabbitmq"
root=$1; shift 2
exec chroot "$root" env -i "$@" /usr/sbin/rabbitmq-server`

/** The arguments of `unshare` that run the server; `more` stand before its program. */
export function launchArguments(node: RabbitmqNode, more: readonly string[] = []): string[] {
  const environment = [
    'PATH=/usr/sbin:/usr/bin:/sbin:/bin',
    'HOME=/var/lib/rabbitmq',
    'LANG=C.UTF-8',
    `RABBITMQ_NODENAME=${node.name}@localhost`,
    `RABBITMQ_DIST_PORT=${node.ports.erlangDistribution}`,
    `ERL_EPMD_PORT=${node.ports.epmd}`,
    'ERL_EPMD_ADDRESS=127.0.0.1',
    // Erlang keeps flags it does not know: this one puts our marker on the command line, where pids are verified.
    `RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1} -onceward ${node.name}`,
    assignment(node.name),
  ]
  const shell = ['sh', '-c', launchScript, 'sh', systemRoot(), node.folder, ...environment]
  return ['--mount', '--propagation', 'private', ...more, ...shell]
}

/** Everything that belongs to the server, epmd and shells among it. */
export const nodeProcesses = (name: string): ProcessIdentity[] => processesWithEnvironment(assignment(name))

/** The launcher is a chain of shells; the server proper is the Erlang machine at its end. */
export function findErlang(name: string): ProcessIdentity | undefined {
  return nodeProcesses(name).find(({ pid }) => {
    const command = commandOf(pid)
    return command.includes('beam.smp') && command.includes(name)
  })
}

/** AMQP greets, the management API answers and the stream port listens. */
export async function nodeAnswers(ports: RabbitmqNode['ports']): Promise<boolean> {
  const greeting = await exchange(ports.amqp, Buffer.from('AMQP\0\0\x09\x01', 'latin1'))
  if (greeting?.[0] !== 1 || !(await isListening(ports.stream))) return false
  const authorization = `Basic ${Buffer.from('guest:guest').toString('base64')}`
  const overview = await fetch(`http://127.0.0.1:${ports.management}/api/overview`, {
    headers: { authorization },
    signal: AbortSignal.timeout(3000),
  }).catch(() => undefined)
  await overview?.body?.cancel()
  return overview?.status === 200
}

export const nodeEndpoints = (ports: RabbitmqNode['ports']) => ({
  url: `amqp://guest:guest@127.0.0.1:${ports.amqp}`,
  managementUrl: `http://guest:guest@127.0.0.1:${ports.management}`,
  streamUrl: `rabbitmq-stream://guest:guest@127.0.0.1:${ports.stream}`,
})
