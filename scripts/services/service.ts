import type { ProcessIdentity } from '../../packages/onceward/src/runtime/embedded/process-identity.ts'
import { portOffset } from './port-offset.ts'

export const serviceNames = ['postgres', 'rabbitmq', 'kafka'] as const
export type ServiceName = (typeof serviceNames)[number]

export type Log = (line: string) => void

/** `managementUrl` and `streamUrl` are RabbitMQ's. Kafka's `url` is its bootstrap address, host:port. */
export type Endpoints = { url: string; managementUrl?: string; streamUrl?: string }

export type AvailableService = Endpoints & { name: ServiceName; via: 'environment' | 'docker' | 'local' }
export type UnavailableService = { name: ServiceName; unavailable: string }
export type Service = AvailableService | UnavailableService

/** One way to run one server on this machine. Every method may be called in any state of the server. */
export type Runner = {
  /** Downloads what is missing, once, and starts the server unless it runs. Resolves when it answers. */
  up(log: Log): Promise<Endpoints>
  /** Starts an installed server again, for instance after a kill. */
  start(log: Log): Promise<Endpoints>
  /** Orderly stop; the data stays. */
  down(): Promise<void>
  /** SIGKILL of the main process; resolves when it is gone. */
  kill(): Promise<void>
  /** Where it answers right now, or undefined when it does not run. */
  running(): Promise<Endpoints | undefined>
  mainProcess(): ProcessIdentity | undefined
}

/**
 * Our own loopback ports, so that a developer's usual servers are left alone. Below 32768, where systems
 * begin to give out ports to clients: a client that had one of ours kept its server from starting.
 */
export const ports = {
  postgres: 27432 + portOffset,
  amqp: 27672 + portOffset,
  management: 27673 + portOffset,
  erlangDistribution: 27674 + portOffset,
  epmd: 27675 + portOffset,
  stream: 27552 + portOffset,
  kafka: 29192 + portOffset,
  kafkaController: 29193 + portOffset,
  pgbouncer: 27433 + portOffset,
  redis: 27434 + portOffset,
} as const
