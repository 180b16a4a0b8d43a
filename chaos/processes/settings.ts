import type { Cell } from '../cell.ts'

/** Where a failed message waits, and when messages are applied: drawn from the seed. */
const workModes = ['inline', 'deferred', 'stored'] as const
export type WorkMode = (typeof workModes)[number]
export const modeOf = (seed: number): WorkMode => workModes[Math.abs(seed) % workModes.length]!

/** Addresses of the servers; null where the cell has no such server. */
export interface Addresses {
  readonly databaseUrl: string
  readonly rabbitmqUrl: string | null
  readonly rabbitmqStreamUrl: string | null
  readonly kafkaBootstrap: string | null
}

/** What all processes of a run share. Children read it from the environment. */
export interface ChaosSettings {
  readonly cell: Cell
  readonly seed: number
  readonly mode: WorkMode
  readonly messages: number
  readonly produceMs: number
  /** The queue, topic or super stream. */
  readonly source: string
  /** Where the consumer publishes what it applied. */
  readonly output: string
  readonly deadLetters: string
  /** Through the links that faults hurt. */
  readonly inside: Addresses
  /** For producers, operators and the oracle: never hurt, follows a failover. */
  readonly outside: Addresses
  readonly gatewayPort: number
  /** Written by the producer alone: before it sends, and after the broker confirmed. */
  readonly sendLog: string
  /** Written by the gateway alone, before it answers. */
  readonly gatewayBook: string
}

export const consumerName = 'chaos'
/** In the folder of the run. */
export const sendLogName = 'sent.jsonl'
export const partitions = 2
const variable = 'ONCEWARD_CHAOS'

export const partitionsOf = (source: string): string[] =>
  Array.from({ length: partitions }, (_, n) => `${source}-${n}`)

export function environmentOf(settings: ChaosSettings): NodeJS.ProcessEnv {
  return { ...process.env, [variable]: JSON.stringify(settings) }
}

/** For the commands of operators, which find the servers as users' processes do. */
export function operatorEnvironment(settings: ChaosSettings): NodeJS.ProcessEnv {
  const { databaseUrl, rabbitmqUrl, rabbitmqStreamUrl, kafkaBootstrap } = settings.outside
  return {
    ...environmentOf(settings),
    ONCEWARD_DATABASE_URL: databaseUrl,
    ...(rabbitmqUrl && { ONCEWARD_RABBITMQ_URL: rabbitmqUrl }),
    ...(rabbitmqStreamUrl && { ONCEWARD_RABBITMQ_STREAM_URL: rabbitmqStreamUrl }),
    ...(kafkaBootstrap && { ONCEWARD_KAFKA_BOOTSTRAP: kafkaBootstrap }),
  }
}

export function readSettings(): ChaosSettings {
  return JSON.parse(process.env[variable]!) as ChaosSettings
}

export function report(message: object): void {
  if (process.connected) process.send!(message)
}

/** Ends a child with its parent. Ctrl-C reaches the whole terminal group; the parent decides when each ends. */
export function endWithParent(): void {
  if (!process.connected) process.exit(0)
  process.on('disconnect', () => process.exit(0))
  process.on('SIGINT', () => {})
}
