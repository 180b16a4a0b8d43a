import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { runFolder } from './cache-folders.ts'
import { assertPortsFree } from './network.ts'
import {
  findErlang,
  launchArguments,
  nodeAnswers,
  nodeEndpoints,
  nodeProcesses,
  type RabbitmqNode,
  writeNodeState,
} from './rabbitmq-node.ts'
import { assertRabbitmqPossible, installRabbitmq } from './rabbitmq-root.ts'
import {
  killServer,
  launchDetached,
  logTail,
  recordedServer,
  recordServer,
  stopServer,
  untilReady,
} from './server-process.ts'
import { ports, type Runner } from './service.ts'

export const rabbitmqEndpoints = nodeEndpoints(ports)

/** One name per run folder, so that servers of two cache folders are never mistaken for each other. */
const nodeName = () =>
  `onceward_${createHash('sha256').update(runFolder('rabbitmq')).digest('hex').slice(0, 8)}`

const sharedNode = (): RabbitmqNode => ({ name: nodeName(), folder: runFolder('rabbitmq'), ports })

async function recordErlang(): Promise<void> {
  for (let tries = 0; tries < 150; tries++) {
    const erlang = findErlang(nodeName())
    if (erlang) {
      recordServer('rabbitmq', erlang.pid, nodeName())
      return
    }
    await sleep(100)
  }
  throw new Error(`the server did not start within 15 s. The end of its log:\n${logTail('rabbitmq')}`)
}

export const rabbitmqAnswers = (): Promise<boolean> => nodeAnswers(ports)

async function start(): Promise<typeof rabbitmqEndpoints> {
  assertRabbitmqPossible()
  if (!recordedServer('rabbitmq')) {
    await assertPortsFree('rabbitmq', [ports.amqp, ports.management, ports.stream])
    writeNodeState(sharedNode())
    launchDetached('rabbitmq', 'unshare', launchArguments(sharedNode()))
    await recordErlang()
  }
  await untilReady('rabbitmq', rabbitmqAnswers, () => recordedServer('rabbitmq') !== undefined)
  return rabbitmqEndpoints
}

async function down(): Promise<void> {
  await stopServer('rabbitmq', recordedServer('rabbitmq') ?? findErlang(nodeName()), 30_000)
  for (const leftover of nodeProcesses(nodeName())) await killServer(leftover)
}

export const localRabbitmq: Runner = {
  up: async log => {
    assertRabbitmqPossible()
    if (!recordedServer('rabbitmq')) await installRabbitmq(log)
    return start()
  },
  start,
  down,
  kill: () => killServer(recordedServer('rabbitmq')),
  running: async () =>
    recordedServer('rabbitmq') && (await rabbitmqAnswers()) ? rabbitmqEndpoints : undefined,
  mainProcess: () => recordedServer('rabbitmq'),
}
