import { kafkaAnswers } from './kafka.ts'
import { exchange } from './network.ts'
import { atOffset } from './port-offset.ts'
import { rabbitmqAnswers, rabbitmqEndpoints } from './rabbitmq.ts'
import { mustRun, runCommand, timed } from './run-command.ts'
import { untilReady } from './server-process.ts'
import { type Endpoints, type Log, ports, type Runner, type ServiceName } from './service.ts'

type Recipe = {
  image: string
  flags: string[]
  command?: string[]
  endpoints: Endpoints
  answers(): Promise<boolean>
}

const publish = (outside: number, inside: number) => ['-p', `127.0.0.1:${outside}:${inside}`]
const environment = (values: Record<string, string | number>) =>
  Object.entries(values).flatMap(([key, value]) => ['-e', `${key}=${value}`])

/** SSLRequest: a PostgreSQL that accepts sessions answers with one letter. */
const postgresAnswers = async () =>
  (await exchange(ports.postgres, Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]))) !== undefined

const recipes: Record<ServiceName, Recipe> = {
  postgres: {
    image: 'postgres:18',
    flags: [
      ...publish(ports.postgres, 5432),
      ...environment({ POSTGRES_HOST_AUTH_METHOD: 'trust' }),
      '--shm-size=1g',
    ],
    command: ['-c', 'max_connections=300', '-c', 'shared_buffers=512MB', '-c', 'max_wal_size=4GB'],
    endpoints: { url: `postgres://postgres@127.0.0.1:${ports.postgres}/postgres` },
    answers: postgresAnswers,
  },
  rabbitmq: {
    image: 'rabbitmq:4-management',
    flags: [
      ...publish(ports.amqp, 5672),
      ...publish(ports.management, 15672),
      ...publish(ports.stream, ports.stream),
      '--hostname=onceward-rabbitmq',
    ],
    // guest may come only from loopback by default, and a published port does not count as that.
    command: [
      'sh',
      '-c',
      `printf '%s\\n' 'loopback_users = none' 'disk_free_limit.absolute = 50MB' 'stream.listeners.tcp.1 = ${ports.stream}' ` +
        `'stream.advertised_host = 127.0.0.1' 'stream.advertised_port = ${ports.stream}' > /etc/rabbitmq/conf.d/90-onceward.conf; ` +
        'rabbitmq-plugins enable --offline rabbitmq_stream rabbitmq_stream_management; ' +
        'exec docker-entrypoint.sh rabbitmq-server',
    ],
    endpoints: rabbitmqEndpoints,
    answers: rabbitmqAnswers,
  },
  kafka: {
    image: 'apache/kafka:4.3.0',
    flags: [
      ...publish(ports.kafka, ports.kafka),
      ...environment({
        KAFKA_NODE_ID: 1,
        KAFKA_PROCESS_ROLES: 'broker,controller',
        KAFKA_LISTENERS: `PLAINTEXT://0.0.0.0:${ports.kafka},CONTROLLER://127.0.0.1:${ports.kafkaController}`,
        KAFKA_ADVERTISED_LISTENERS: `PLAINTEXT://127.0.0.1:${ports.kafka}`,
        KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
        KAFKA_CONTROLLER_LISTENER_NAMES: 'CONTROLLER',
        KAFKA_CONTROLLER_QUORUM_VOTERS: `1@127.0.0.1:${ports.kafkaController}`,
        KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: 1,
        KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS: 4,
        KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR: 1,
        KAFKA_TRANSACTION_STATE_LOG_MIN_ISR: 1,
        KAFKA_TRANSACTION_STATE_LOG_NUM_PARTITIONS: 4,
        KAFKA_SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR: 1,
        KAFKA_SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR: 1,
        KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: 0,
        KAFKA_AUTO_CREATE_TOPICS_ENABLE: 'false',
      }),
    ],
    endpoints: { url: `127.0.0.1:${ports.kafka}` },
    answers: () => kafkaAnswers(ports.kafka),
  },
}

const containerName = (name: ServiceName) => atOffset(`onceward-${name}`)

let engine: Promise<boolean> | undefined
/** Asked once per process: an engine does not come and go within a command. */
export function dockerAnswers(): Promise<boolean> {
  engine ??= runCommand('docker', ['info', '--format', '{{.ServerVersion}}'], { timeoutMs: 8000 }).then(
    ({ code, output }) => code === 0 && output !== '',
  )
  return engine
}

async function containerState(name: ServiceName): Promise<string | undefined> {
  const { code, output } = await runCommand('docker', [
    'inspect',
    '-f',
    '{{.State.Status}}',
    containerName(name),
  ])
  return code === 0 ? output : undefined
}

async function start(name: ServiceName, log: Log): Promise<Endpoints> {
  const { image, flags, command = [], endpoints, answers } = recipes[name]
  const state = await containerState(name)
  if (state === undefined) {
    const labels = ['--name', containerName(name), '--label', 'onceward=service']
    const run = () => mustRun('docker', ['run', '-d', ...labels, ...flags, image, ...command])
    await timed(log, `${name}: starting the container ${image} (pulled once)`, run)
  } else if (state !== 'running') await mustRun('docker', ['start', containerName(name)])
  await untilReady(name, answers, () => true, 120_000)
  return endpoints
}

export function dockerRunner(name: ServiceName): Runner {
  return {
    up: log => start(name, log),
    start: log => start(name, log),
    down: async () => {
      if (await containerState(name)) await mustRun('docker', ['stop', containerName(name)])
    },
    kill: async () => {
      await mustRun('docker', ['kill', containerName(name)])
    },
    running: async () => ((await containerState(name)) === 'running' ? recipes[name].endpoints : undefined),
    mainProcess: () => undefined,
  }
}
