import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chownSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { localRabbitmq } from '../../../../scripts/services/rabbitmq.ts'
import {
  findErlang,
  launchArguments,
  nodeAnswers,
  nodeEndpoints,
  type RabbitmqNode,
  rabbitmqUser,
  writeNodeState,
} from '../../../../scripts/services/rabbitmq-node.ts'
import { signalProcess } from '../../src/embedded/process-identity.ts'
import { until } from '../../src/testing/until.ts'
import { freePorts } from './free-ports.ts'
import { skipWithout } from './services.ts'

/** A broker of the test's own, on ports and in a folder of its own: it may be killed, frozen and started again. */
export interface PrivateRabbitmq {
  readonly url: string
  readonly managementUrl: string
  readonly streamUrl: string
  readonly ports: PrivatePorts
  /** `log` and `etc` of the server lie here. */
  readonly folder: string
  /** kill -9 of the Erlang machine; resolves when it and all its helpers are gone. */
  kill(): Promise<void>
  /** Starts it again on the same data and ports; resolves when it answers. */
  start(): Promise<void>
  /** SIGSTOP: the kernel still accepts connections, nobody answers. */
  freeze(): void
  resume(): void
  /** Kills it and removes its folder. */
  close(): Promise<void>
}

/** The TLS ports are only reserved: a listener stands on one when `configuration` says so. */
export type PrivatePorts = RabbitmqNode['ports'] & {
  readonly amqpTls: number
  readonly managementTls: number
  readonly streamTls: number
}

export interface PrivateRabbitmqOptions {
  /** Lines of rabbitmq.conf beside ours, e.g. `listeners.ssl.1 = 127.0.0.1:${ports.amqpTls}`. */
  readonly configuration?: (ports: PrivatePorts) => readonly string[]
  /** Plugins beside management and streams, e.g. `rabbitmq_auth_mechanism_ssl`. */
  readonly plugins?: readonly string[]
  /** Name and content; the server reads them as `/etc/rabbitmq/<name>`. */
  readonly files?: Readonly<Record<string, string | Buffer>>
}

/** Why no private broker can be started here, as an option for a test; empty where it can. */
export async function skipWithoutPrivateRabbitmq(): Promise<{ skip?: string }> {
  const shared = await skipWithout('rabbitmq')
  if (shared.skip !== undefined) return shared
  return localRabbitmq.mainProcess() === undefined
    ? { skip: 'a private RabbitMQ needs the local recipe (root, no Docker); the shared one runs elsewhere' }
    : {}
}

export async function startPrivateRabbitmq(options: PrivateRabbitmqOptions = {}): Promise<PrivateRabbitmq> {
  const folder = mkdtempSync(join(tmpdir(), 'onceward-rabbitmq-'))
  const node = await prepare(folder, options)
  const logFile = join(folder, 'server.log')
  let launcher: ChildProcess | null = null
  const start = async () => {
    const started = launch(node, logFile)
    launcher = started
    await until(
      'the private broker answers',
      async () => {
        if (started.exitCode !== null || started.signalCode !== null)
          throw new Error(`it exited:\n${readFileSync(logFile, 'utf8').slice(-2_000)}`)
        return nodeAnswers(node.ports)
      },
      { deadlineMs: 90_000 },
    )
  }
  const signal = (name: NodeJS.Signals) => {
    const erlang = findErlang(node.name)
    if (erlang !== undefined) signalProcess(erlang, name)
  }
  const kill = async () => {
    const killed = launcher
    launcher = null
    if (killed === null || killed.exitCode !== null || killed.signalCode !== null) return
    const gone = once(killed, 'exit')
    signal('SIGKILL')
    // Takes what is left of the process namespace along: shells, epmd.
    killed.kill('SIGKILL')
    await gone
    await until('no process of the private broker is left', () => findErlang(node.name) === undefined)
  }
  /** The kernel ends the server with this process; only its folder would stay behind. */
  const onExit = () => {
    launcher?.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  process.on('exit', onExit)
  const close = async () => {
    process.off('exit', onExit)
    await kill()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await start()
  } catch (error) {
    await close()
    throw error
  }
  return {
    ...nodeEndpoints(node.ports),
    ports: node.ports,
    folder,
    kill,
    start,
    freeze: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    close,
  }
}

async function prepare(
  folder: string,
  { configuration, plugins = [], files = {} }: PrivateRabbitmqOptions,
): Promise<RabbitmqNode & { readonly ports: PrivatePorts }> {
  const [amqp, management, stream, erlangDistribution, epmd, amqpTls, managementTls, streamTls] =
    (await freePorts(8)) as [number, number, number, number, number, number, number, number]
  const ports = {
    amqp,
    management,
    stream,
    erlangDistribution,
    epmd,
    amqpTls,
    managementTls,
    streamTls,
  }
  const name = `onceward_private_${randomBytes(4).toString('hex')}`
  const node = { name, folder, ports, configuration: configuration?.(ports) ?? [], plugins }
  writeNodeState(node)
  const { uid, gid } = rabbitmqUser()
  for (const [file, content] of Object.entries(files)) {
    const path = join(folder, 'etc', file)
    writeFileSync(path, content, { mode: 0o600 })
    chownSync(path, uid, gid)
  }
  return node
}

/**
 * In a process namespace of its own, whose first process dies with the launcher, and the launcher with the test process, however that ends:
 * the kernel leaves nothing running.
 */
function launch(node: RabbitmqNode, logFile: string): ChildProcess {
  const log = openSync(logFile, 'a')
  try {
    const namespace = ['--pid', '--fork', '--kill-child=SIGKILL']
    const args = ['--pdeathsig', 'KILL', 'unshare', ...launchArguments(node, namespace)]
    return spawn('setpriv', args, { cwd: '/', stdio: ['ignore', log, log] })
  } finally {
    closeSync(log)
  }
}
