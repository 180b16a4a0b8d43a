import { whileLocked } from './cache-folders.ts'
import { dockerAnswers, dockerRunner } from './docker.ts'
import { localKafka } from './kafka.ts'
import { localPostgres } from './postgres.ts'
import { localRabbitmq } from './rabbitmq.ts'
import {
  type AvailableService,
  type Endpoints,
  type Log,
  ports,
  type Runner,
  type Service,
  type ServiceName,
  serviceNames,
} from './service.ts'

export type { AvailableService, Service, ServiceName, UnavailableService } from './service.ts'
export { serviceNames } from './service.ts'

const localRunners: Record<ServiceName, Runner> = {
  postgres: localPostgres,
  rabbitmq: localRabbitmq,
  kafka: localKafka,
}

const variables: Record<ServiceName, { [key in keyof Endpoints]: string }> = {
  postgres: { url: 'ONCEWARD_POSTGRES_URL' },
  rabbitmq: {
    url: 'ONCEWARD_RABBITMQ_URL',
    managementUrl: 'ONCEWARD_RABBITMQ_MANAGEMENT_URL',
    streamUrl: 'ONCEWARD_RABBITMQ_STREAM_URL',
  },
  kafka: { url: 'ONCEWARD_KAFKA_BOOTSTRAP' },
}

const ownPort: Record<ServiceName, number> = {
  postgres: ports.postgres,
  rabbitmq: ports.amqp,
  kafka: ports.kafka,
}

function fromEnvironment(name: ServiceName): AvailableService | undefined {
  const found = Object.entries(variables[name]).flatMap(([key, variable]) =>
    process.env[variable] ? [[key, process.env[variable]]] : [],
  )
  const endpoints = Object.fromEntries(found) as Endpoints
  return endpoints.url ? { name, ...endpoints, via: 'environment' } : undefined
}

/** The variables by which a child process finds the same services. */
export function environmentOf(services: Service[]): Record<string, string> {
  const pairs = services.flatMap(service =>
    Object.entries(variables[service.name]).flatMap(([key, variable]) => {
      const value = 'unavailable' in service ? undefined : service[key as keyof Endpoints]
      return value ? [[variable, value]] : []
    }),
  )
  return Object.fromEntries(pairs) as Record<string, string>
}

async function runnerFor(name: ServiceName): Promise<{ via: 'docker' | 'local'; runner: Runner }> {
  if (localRunners[name].mainProcess()) return { via: 'local', runner: localRunners[name] }
  if (await dockerAnswers()) return { via: 'docker', runner: dockerRunner(name) }
  return { via: 'local', runner: localRunners[name] }
}

/** A server that was given to us by its address is not ours to kill or start. */
async function ownRunner(name: ServiceName): Promise<Runner> {
  const given = fromEnvironment(name)
  if (given && !given.url.includes(`127.0.0.1:${ownPort[name]}`)) {
    throw new Error(
      `${name} was given by ${variables[name].url}; it is not ours to stop or start. Nothing was done.`,
    )
  }
  return (await runnerFor(name)).runner
}

async function ensureService(name: ServiceName, log: Log): Promise<Service> {
  const given = fromEnvironment(name)
  if (given) return given
  try {
    const { via, runner } = await runnerFor(name)
    return { name, ...(await whileLocked(name, log, () => runner.up(log))), via }
  } catch (error) {
    return { name, unavailable: (error as Error).message }
  }
}

/**
 * Each service by the first way that works: an address in the environment, Docker, or a local recipe that
 * needs neither. A service that cannot be had comes back with the reason; the caller decides what that means.
 */
export function ensureServices(
  names: readonly ServiceName[],
  options: { log?: Log } = {},
): Promise<Service[]> {
  const log = options.log ?? (() => {})
  return Promise.all(names.map(name => ensureService(name, log)))
}

/** SIGKILL of the server's main process; resolves when it is gone. Its data stays. */
export async function killService(name: ServiceName): Promise<void> {
  await (await ownRunner(name)).kill()
}

/** Starts a stopped or killed server again; resolves when it answers. */
export async function startService(name: ServiceName, log: Log = () => {}): Promise<Endpoints> {
  const runner = await ownRunner(name)
  return whileLocked(name, log, () => runner.start(log))
}

export async function stopService(name: ServiceName, log: Log = () => {}): Promise<void> {
  const runner = await ownRunner(name)
  await whileLocked(name, log, () => runner.down())
}

/** Resolves once the service answers its own protocol; rejects after the timeout. */
export async function waitReady(name: ServiceName, timeoutMs = 60_000): Promise<Endpoints> {
  const runner = await ownRunner(name)
  for (const deadline = Date.now() + timeoutMs; ; ) {
    const endpoints = await runner.running()
    if (endpoints) return endpoints
    if (Date.now() > deadline) throw new Error(`${name} did not answer within ${timeoutMs / 1000} s`)
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}

export async function serviceStatus(): Promise<(Service & { pid?: number })[]> {
  return Promise.all(
    serviceNames.map(async name => {
      const given = fromEnvironment(name)
      if (given) return given
      const { via, runner } = await runnerFor(name)
      const endpoints = await runner.running().catch(() => undefined)
      const pid = runner.mainProcess()?.pid
      return endpoints
        ? { name, ...endpoints, via, ...(pid ? { pid } : {}) }
        : { name, unavailable: 'not running' }
    }),
  )
}
