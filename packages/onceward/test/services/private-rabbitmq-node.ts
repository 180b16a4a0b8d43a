import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, closeSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  findErlang,
  launchArguments,
  nodeAnswers,
  nodeEndpoints,
  type RabbitmqNode,
  writeNodeState,
} from '../../../../scripts/services/rabbitmq-node.ts'
import { rabbitmqUser } from '../../../../scripts/services/rabbitmq-root.ts'
import { signalProcess } from '../../src/runtime/embedded/process-identity.ts'
import { until } from '../../src/testing/until.ts'
import { freePorts } from './free-ports.ts'

/** The TLS ports are only reserved: a listener stands on one when `configuration` says so. */
export type PrivatePorts = RabbitmqNode['ports'] & {
  readonly amqpTls: number
  readonly managementTls: number
  readonly streamTls: number
}

/** One server of a test's own: it may be killed, stopped, frozen and started again. */
export interface PrivateNode {
  /** As the brokers and the management API name it. */
  readonly name: string
  readonly url: string
  readonly managementUrl: string
  readonly streamUrl: string
  readonly ports: PrivatePorts
  /** `data`, `log` and `etc` of the server lie here. */
  readonly folder: string
  /** Started, and neither killed nor stopped since. */
  isRunning(): boolean
  /** kill -9 of the Erlang machine; resolves when it and all its helpers are gone. */
  kill(): Promise<void>
  /** An orderly stop (SIGTERM); resolves when it is gone. */
  stop(): Promise<void>
  /** Starts it again on the same data and ports; resolves when it answers. */
  start(): Promise<void>
  /** SIGSTOP: the kernel still accepts connections, nobody answers. */
  freeze(): void
  resume(): void
}

/** Name and content of files that the server reads as `/etc/rabbitmq/<name>`. */
export type ServerFiles = Readonly<Record<string, string | Buffer>>

const portsOfOne = 7

/** For each node ports of its own, and one epmd port for all. */
export async function privatePorts(nodes: number): Promise<PrivatePorts[]> {
  const [epmd, ...rest] = (await freePorts(1 + nodes * portsOfOne)) as [number, ...number[]]
  return Array.from({ length: nodes }, (_, index) => {
    const own = rest.slice(index * portsOfOne, (index + 1) * portsOfOne)
    const [amqp, management, stream, erlangDistribution, amqpTls, managementTls, streamTls] = own as [
      ...[number, number, number, number, number, number, number],
    ]
    return { amqp, management, stream, erlangDistribution, epmd, amqpTls, managementTls, streamTls }
  })
}

/** Written once; `start` then launches it. `abandon` is for the end of the test process: it does not wait. */
export function prepareNode(
  node: RabbitmqNode & { readonly ports: PrivatePorts },
  files: ServerFiles = {},
): PrivateNode & { abandon(): void } {
  writeNodeState(node)
  for (const [file, content] of Object.entries(files)) writeOwned(node, join('etc', file), content, 0o600)
  const logFile = join(node.folder, 'server.log')
  let launcher: ChildProcess | null = null
  const signal = (name: NodeJS.Signals) => {
    const erlang = findErlang(node.name)
    if (erlang !== undefined) signalProcess(erlang, name)
  }
  /** Takes what is left of the process namespace along when the machine is gone: shells, epmd. */
  const end = async (name: 'SIGKILL' | 'SIGTERM') => {
    const ended = launcher
    launcher = null
    if (ended === null || hasExited(ended)) return
    const gone = once(ended, 'exit')
    signal(name)
    if (name === 'SIGTERM') signal('SIGCONT')
    if (name === 'SIGTERM')
      await until('the server has stopped', () => findErlang(node.name) === undefined, { deadlineMs: 90_000 })
    ended.kill('SIGKILL')
    await gone
    await until('no process of the private broker is left', () => findErlang(node.name) === undefined)
  }
  return {
    ...nodeEndpoints(node.ports),
    name: `${node.name}@localhost`,
    ports: node.ports,
    folder: node.folder,
    isRunning: () => launcher !== null && !hasExited(launcher),
    start: async () => {
      const started = launch(node, logFile)
      launcher = started
      await until(
        'the private broker answers',
        async () => {
          if (hasExited(started))
            throw new Error(`it exited:\n${readFileSync(logFile, 'utf8').slice(-2_000)}`)
          return nodeAnswers(node.ports)
        },
        { deadlineMs: 120_000 },
      )
    },
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    freeze: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    abandon: () => launcher?.kill('SIGKILL'),
  }
}

const hasExited = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null

/** A file of the server's user, which alone may read it where `mode` says so. */
export function writeOwned(node: RabbitmqNode, path: string, content: string | Buffer, mode: number): void {
  const { uid, gid } = rabbitmqUser(node.version)
  writeFileSync(join(node.folder, path), content, { mode })
  chownSync(join(node.folder, path), uid, gid)
}

/**
 * In a process namespace of its own, whose first process dies with the launcher, and the launcher with the
 * test process, however that ends: the kernel leaves nothing running.
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
