import { chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  commandOf,
  type ProcessIdentity,
} from '../../packages/onceward/src/runtime/embedded/process-identity.ts'
import { exchange, isListening } from './network.ts'
import { type RabbitmqVersion, rabbitmqUser, systemRoot } from './rabbitmq-root.ts'
import { processesWithEnvironment } from './server-process.ts'

/** One RabbitMQ server from the Debian system root: the shared one, or one of a test's own. */
export interface RabbitmqNode {
  /** Unique on this machine: the server's processes are found by it. */
  readonly name: string
  /** 4.0 unless said otherwise. */
  readonly version?: RabbitmqVersion
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

const stateFolders = ['data', 'log', 'etc'] as const
const assignment = (name: string) => `ONCEWARD_SERVICE=${name}`

export function writeNodeState(node: RabbitmqNode): void {
  const { uid, gid } = rabbitmqUser(node.version)
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
    // Erlang keeps flags it does not know: this one puts our marker on the command line, where pids are
    // verified.
    `RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1} -onceward ${node.name}`,
    assignment(node.name),
  ]
  const shell = ['sh', '-c', launchScript, 'sh', systemRoot(node.version), node.folder, ...environment]
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
