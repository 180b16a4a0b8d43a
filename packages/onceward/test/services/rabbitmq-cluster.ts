import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RabbitmqVersion, systemRoot } from '../../../../scripts/services/rabbitmq-root.ts'
import { mustRun } from '../../../../scripts/services/run-command.ts'
import { until } from '../../src/testing/until.ts'
import {
  type PrivateNode,
  type PrivatePorts,
  prepareNode,
  privatePorts,
  type ServerFiles,
  writeOwned,
} from './private-rabbitmq-node.ts'

/**
 * Three brokers of the test's own that form one cluster. Guard it with `skipWithoutPrivateRabbitmq(version)`.
 */
export interface RabbitmqCluster {
  readonly nodes: readonly [ClusterNode, ClusterNode, ClusterNode]
  /** Resolves when each of these nodes (all unless given) sees exactly these running. */
  formed(nodes?: readonly PrivateNode[]): Promise<void>
  /** Kills all nodes and removes their folders. */
  close(): Promise<void>
}

export interface ClusterNode extends PrivateNode {
  /**
   * Runs one of RabbitMQ's programs against this node, e.g.
   * `ctl('rabbitmq-streams', 'restart_stream', name)`.
   */
  ctl(program: string, ...args: string[]): Promise<string>
  /** Cuts its connections to the other nodes, which clients do not notice: a network partition. */
  isolate(): Promise<void>
  /**
   * Lets the other nodes reach it again. Under 4.0 the cluster heals only with a `cluster_partition_handling`
   * that acts.
   */
  rejoin(): Promise<void>
}

export interface RabbitmqClusterOptions {
  /** 4.0 unless said otherwise. */
  readonly version?: RabbitmqVersion
  /** Lines of each node's rabbitmq.conf beside ours, e.g. `cluster_partition_handling = pause_minority`. */
  readonly configuration?: (ports: PrivatePorts) => readonly string[]
  readonly plugins?: readonly string[]
  readonly files?: ServerFiles
}

export async function startRabbitmqCluster(options: RabbitmqClusterOptions = {}): Promise<RabbitmqCluster> {
  const { version = '4.0' } = options
  const folder = mkdtempSync(join(tmpdir(), 'onceward-rabbitmq-cluster-'))
  const ports = await privatePorts(3)
  const epmd = startEpmd(version, ports[0]!.epmd)
  const nodes = prepareNodes(folder, ports, options)
  /** The kernel ends the servers with this process; only their folders would stay behind. */
  const onExit = () => {
    for (const node of nodes) node.abandon()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  process.on('exit', onExit)
  const close = async () => {
    process.off('exit', onExit)
    await Promise.all(nodes.map(node => node.kill()))
    const gone = once(epmd, 'exit')
    if (epmd.kill('SIGKILL')) await gone
    rmSync(folder, { recursive: true, force: true })
  }
  const formed = (running: readonly PrivateNode[] = nodes) => untilFormed(running)
  try {
    await Promise.all(nodes.map(node => node.start()))
    await formed()
  } catch (error) {
    await close()
    throw error
  }
  return { nodes, formed, close }
}

type PreparedNode = ClusterNode & { abandon(): void }

function prepareNodes(
  folder: string,
  ports: readonly PrivatePorts[],
  { version = '4.0', configuration, plugins = [], files }: RabbitmqClusterOptions,
): [PreparedNode, PreparedNode, PreparedNode] {
  const id = randomBytes(4).toString('hex')
  const cookie = randomBytes(10).toString('hex')
  const names = ports.map((_, index) => `onceward_cluster_${id}_${index + 1}`)
  const discovery = [
    'cluster_formation.peer_discovery_backend = classic_config',
    ...names.map((name, index) => `cluster_formation.classic_config.nodes.${index + 1} = ${name}@localhost`),
  ]
  return ports.map((own, index) => {
    const node = {
      name: names[index]!,
      version,
      folder: join(folder, String(index + 1)),
      ports: own,
      configuration: [...discovery, ...(configuration?.(own) ?? [])],
      plugins,
    }
    mkdirSync(node.folder, { mode: 0o755 })
    const prepared = prepareNode(node, files)
    writeOwned(node, join('data', '.erlang.cookie'), cookie, 0o400)
    const ctl = (program: string, ...args: string[]) =>
      runProgram(version, own.epmd, program, '-n', prepared.name, '--erlang-cookie', cookie, ...args)
    const others = `[${names.filter(name => name !== node.name).map(name => `'${name}@localhost'`)}]`
    const evaluate = async (each: string) => {
      await ctl('rabbitmqctl', 'eval', `[begin ${each} end || N <- ${others}].`)
    }
    return {
      ...prepared,
      ctl,
      isolate: () => evaluate('erlang:set_cookie(N, isolated), erlang:disconnect_node(N)'),
      rejoin: () => evaluate(`erlang:set_cookie(N, '${cookie}'), net_kernel:connect_node(N)`),
    }
  }) as [PreparedNode, PreparedNode, PreparedNode]
}

const chroot = (version: RabbitmqVersion, epmdPort: number) => [
  ...['chroot', systemRoot(version), 'env', '-i', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'LANG=C.UTF-8'],
  ...[`ERL_EPMD_PORT=${epmdPort}`, 'ERL_EPMD_ADDRESS=127.0.0.1'],
]

/** Started by a node it would die with that node, and the others could no longer find each other. */
function startEpmd(version: RabbitmqVersion, port: number): ChildProcess {
  return spawn('setpriv', ['--pdeathsig', 'KILL', ...chroot(version, port), 'epmd'], {
    cwd: '/',
    stdio: 'ignore',
  })
}

/**
 * `su` would pass the environment on and quote nothing: the program runs as root, which the cookie allows.
 */
function runProgram(version: RabbitmqVersion, epmdPort: number, program: string, ...args: string[]) {
  const [command, ...before] = chroot(version, epmdPort) as [string, ...string[]]
  const home = 'HOME=/tmp'
  return mustRun(command, [...before, home, `/usr/lib/rabbitmq/bin/${program}`, ...args])
}

async function untilFormed(nodes: readonly PrivateNode[]): Promise<void> {
  const expected = nodes.map(node => node.name).sort()
  await until(
    'the nodes see each other running',
    async () => {
      const seen = await Promise.all(nodes.map(runningNodes))
      return seen.every(names => names.join() === expected.join())
    },
    { deadlineMs: 120_000 },
  )
}

async function runningNodes(node: PrivateNode): Promise<string[]> {
  const nodes = await askNode<{ name: string; running: boolean }[]>(node, 'nodes?columns=name,running')
  return (nodes ?? []).flatMap(({ name, running }) => (running ? [name] : [])).sort()
}

/** The management API of one node. Null while it does not answer: it may wait for a node that is frozen. */
export async function askNode<T>({ ports }: Pick<PrivateNode, 'ports'>, path: string): Promise<T | null> {
  try {
    const answer = await fetch(`http://127.0.0.1:${ports.management}/api/${path}`, {
      headers: { authorization: `Basic ${Buffer.from('guest:guest').toString('base64')}` },
      signal: AbortSignal.timeout(5_000),
    })
    return answer.ok ? ((await answer.json()) as T) : null
  } catch {
    return null
  }
}
