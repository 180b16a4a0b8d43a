import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { localRabbitmq } from '../../../../scripts/services/rabbitmq.ts'
import { installRabbitmqOnce, type RabbitmqVersion } from '../../../../scripts/services/rabbitmq-root.ts'
import {
  type PrivateNode,
  type PrivatePorts,
  prepareNode,
  privatePorts,
  type ServerFiles,
} from './private-rabbitmq-node.ts'
import { skipWithout } from './services.ts'

export type { PrivatePorts } from './private-rabbitmq-node.ts'

/** A broker of the test's own, on ports and in a folder of its own. */
export interface PrivateRabbitmq extends PrivateNode {
  /** Kills it and removes its folder. */
  close(): Promise<void>
}

export interface PrivateRabbitmqOptions {
  /** 4.0 unless said otherwise; guard 4.3 with `skipWithoutPrivateRabbitmq('4.3')`. */
  readonly version?: RabbitmqVersion
  /** Lines of rabbitmq.conf beside ours, e.g. `listeners.ssl.1 = 127.0.0.1:${ports.amqpTls}`. */
  readonly configuration?: (ports: PrivatePorts) => readonly string[]
  /** Plugins beside management and streams, e.g. `rabbitmq_auth_mechanism_ssl`. */
  readonly plugins?: readonly string[]
  readonly files?: ServerFiles
}

/**
 * Why no private broker can be started here, as an option for a test; empty where it can. Installs 4.3 once.
 */
export async function skipWithoutPrivateRabbitmq(
  version: RabbitmqVersion = '4.0',
): Promise<{ skip?: string }> {
  const shared = await skipWithout('rabbitmq')
  if (shared.skip !== undefined) return shared
  if (localRabbitmq.mainProcess() === undefined)
    return {
      skip: 'a private RabbitMQ needs the local recipe (root, no Docker); the shared one runs elsewhere',
    }
  return installRabbitmqOnce(version, line => console.error(line)).then(
    () => ({}),
    (error: Error) => ({ skip: `RabbitMQ ${version} could not be installed: ${error.message}` }),
  )
}

export async function startPrivateRabbitmq(options: PrivateRabbitmqOptions = {}): Promise<PrivateRabbitmq> {
  const { version = '4.0', configuration, plugins = [], files } = options
  const folder = mkdtempSync(join(tmpdir(), 'onceward-rabbitmq-'))
  const [ports] = (await privatePorts(1)) as [PrivatePorts]
  const name = `onceward_private_${randomBytes(4).toString('hex')}`
  const lines = configuration?.(ports) ?? []
  const node = prepareNode({ name, version, folder, ports, configuration: lines, plugins }, files)
  /** The kernel ends the server with this process; only its folder would stay behind. */
  const onExit = () => {
    node.abandon()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  process.on('exit', onExit)
  const close = async () => {
    process.off('exit', onExit)
    await node.kill()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await node.start()
  } catch (error) {
    await close()
    throw error
  }
  return { ...node, close }
}
