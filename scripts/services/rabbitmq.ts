import { createHash } from 'node:crypto'
import { chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { commandOf } from '../../packages/onceward/src/embedded/process-identity.ts'
import { buildOnce, downloadFolder, runFolder } from './cache-folders.ts'
import { assertPortsFree, exchange, isListening } from './network.ts'
import { findProgram, mustRun, needProgram, timed } from './run-command.ts'
import {
  killServer,
  launchDetached,
  logTail,
  processesWithEnvironment,
  recordedServer,
  recordServer,
  stopServer,
  untilReady,
} from './server-process.ts'
import { type Log, ports, type Runner } from './service.ts'

export const rabbitmqEndpoints = {
  url: `amqp://guest:guest@127.0.0.1:${ports.amqp}`,
  managementUrl: `http://guest:guest@127.0.0.1:${ports.management}`,
  streamUrl: `rabbitmq-stream://guest:guest@127.0.0.1:${ports.stream}`,
}

const systemRoot = () => downloadFolder('debian-13-rabbitmq-4')
const stateFolder = (kind: 'data' | 'log' | 'etc') => join(runFolder('rabbitmq'), kind)
/** One name per run folder, so that servers of two cache folders are never mistaken for each other. */
const nodeName = () =>
  `onceward_${createHash('sha256').update(runFolder('rabbitmq')).digest('hex').slice(0, 8)}`
const assignment = () => `ONCEWARD_SERVICE=${nodeName()}`

const configuration = `listeners.tcp.1 = 127.0.0.1:${ports.amqp}
management.tcp.ip = 127.0.0.1
management.tcp.port = ${ports.management}
stream.listeners.tcp.1 = 127.0.0.1:${ports.stream}
stream.advertised_host = 127.0.0.1
stream.advertised_port = ${ports.stream}
loopback_users.guest = true
vm_memory_high_watermark.relative = 0.6
disk_free_limit.absolute = 50MB
log.console = false
log.file = rabbit.log
log.file.level = warning
`

function assertPossible(): void {
  const what = 'running RabbitMQ 4 without Docker'
  if (process.platform !== 'linux')
    throw new Error(`${what} works on Linux only; start Docker or set ONCEWARD_RABBITMQ_URL`)
  if (process.getuid?.() !== 0)
    throw new Error(`${what} needs root (chroot); start Docker or set ONCEWARD_RABBITMQ_URL`)
  if (!existsSync(systemRoot()) && !findProgram('apt-get') && !findProgram('debootstrap')) {
    throw new Error(`${what} needs debootstrap; install it, start Docker or set ONCEWARD_RABBITMQ_URL`)
  }
}

async function install(log: Log): Promise<void> {
  if (existsSync(systemRoot())) return
  const say: Log = line => log(`rabbitmq: ${line}`)
  const debootstrap = await needProgram('debootstrap', ['debootstrap', 'debian-archive-keyring'], say)
  await timed(say, 'installing Debian 13 packages (about 70 MB to download, 370 MB on disk, once)', () =>
    buildOnce(systemRoot(), async partial => {
      await mustRun(debootstrap, ['--variant=minbase', '--include=rabbitmq-server', 'trixie', partial])
    }),
  )
}

function rabbitmqUser(): { uid: number; gid: number } {
  const line = readFileSync(join(systemRoot(), 'etc', 'passwd'), 'utf8').match(
    /^rabbitmq:[^:]*:(\d+):(\d+):/m,
  )
  if (!line)
    throw new Error(`${systemRoot()} has no rabbitmq user: delete that folder and run services up again`)
  return { uid: Number(line[1]), gid: Number(line[2]) }
}

function writeState(): void {
  const { uid, gid } = rabbitmqUser()
  for (const kind of ['data', 'log', 'etc'] as const) {
    mkdirSync(stateFolder(kind), { recursive: true, mode: 0o755 })
    chownSync(stateFolder(kind), uid, gid)
  }
  writeFileSync(join(stateFolder('etc'), 'rabbitmq.conf'), configuration)
  writeFileSync(
    join(stateFolder('etc'), 'enabled_plugins'),
    '[rabbitmq_management,rabbitmq_stream,rabbitmq_stream_management].\n',
  )
}

/** All mounts are made in a mount namespace of its own and vanish with its last process. */
const launchScript = `set -e
mount -t proc proc "$1/proc"
mount --bind "$2/data" "$1/var/lib/rabbitmq"
mount --bind "$2/log" "$1/var/log/rabbitmq"
mount --bind "$2/etc" "$1/etc/rabbitmq"
root=$1; shift 2
exec chroot "$root" env -i "$@" /usr/sbin/rabbitmq-server`

function launch(): number {
  const environment = [
    'PATH=/usr/sbin:/usr/bin:/sbin:/bin',
    'HOME=/var/lib/rabbitmq',
    'LANG=C.UTF-8',
    `RABBITMQ_NODENAME=${nodeName()}@localhost`,
    `RABBITMQ_DIST_PORT=${ports.erlangDistribution}`,
    `ERL_EPMD_PORT=${ports.epmd}`,
    'ERL_EPMD_ADDRESS=127.0.0.1',
    // Erlang keeps flags it does not know: this one puts our marker on the command line, where pids are verified.
    `RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1} -onceward ${nodeName()}`,
    assignment(),
  ]
  const shell = ['sh', '-c', launchScript, 'sh', systemRoot(), runFolder('rabbitmq'), ...environment]
  return launchDetached('rabbitmq', 'unshare', ['--mount', '--propagation', 'private', ...shell])
}

function findErlang() {
  const ours = processesWithEnvironment(assignment())
  return ours.find(({ pid }) => {
    const command = commandOf(pid)
    return command.includes('beam.smp') && command.includes(nodeName())
  })
}

/** The launcher is a chain of shells; the server proper is the Erlang machine at its end. */
async function recordErlang(): Promise<void> {
  for (let tries = 0; tries < 150; tries++) {
    const erlang = findErlang()
    if (erlang) {
      recordServer('rabbitmq', erlang.pid, nodeName())
      return
    }
    await sleep(100)
  }
  throw new Error(`the server did not start within 15 s. The end of its log:\n${logTail('rabbitmq')}`)
}

/** AMQP greets, the management API answers and the stream port listens. */
export async function rabbitmqAnswers(): Promise<boolean> {
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

async function start(): Promise<typeof rabbitmqEndpoints> {
  assertPossible()
  if (!recordedServer('rabbitmq')) {
    await assertPortsFree('rabbitmq', [ports.amqp, ports.management, ports.stream])
    writeState()
    launch()
    await recordErlang()
  }
  await untilReady('rabbitmq', rabbitmqAnswers, () => recordedServer('rabbitmq') !== undefined)
  return rabbitmqEndpoints
}

async function down(): Promise<void> {
  await stopServer('rabbitmq', recordedServer('rabbitmq') ?? findErlang(), 30_000)
  for (const leftover of processesWithEnvironment(assignment())) await killServer(leftover)
}

export const localRabbitmq: Runner = {
  up: async log => {
    assertPossible()
    if (!recordedServer('rabbitmq')) await install(log)
    return start()
  },
  start,
  down,
  kill: () => killServer(recordedServer('rabbitmq')),
  running: async () =>
    recordedServer('rabbitmq') && (await rabbitmqAnswers()) ? rabbitmqEndpoints : undefined,
  mainProcess: () => recordedServer('rabbitmq'),
}
