export const demoBrokers = ['postgres', 'rabbitmq', 'stream', 'kafka'] as const
export type DemoBroker = (typeof demoBrokers)[number]

/** Null when the run does not need it. */
export interface ServerAddresses {
  readonly rabbitmqUrl: string | null
  readonly rabbitmqStreamUrl: string | null
  readonly kafkaBootstrap: string | null
}

/**
 * Settings shared by all processes of a run. Children read them from the environment, because they contain
 * passwords.
 */
export interface DemoSettings extends ServerAddresses {
  readonly broker: DemoBroker
  readonly seed: number
  readonly messages: number
  /** The duration of production, so that the kills find work in progress. */
  readonly produceMs: number
  /** The queue, topic or super stream. */
  readonly queue: string
  readonly deadLetters: string
  readonly databaseUrl: string
  readonly gatewayUrl: string
  /** Node's compile cache, which makes a restart much faster. */
  readonly compileCache: string
  /** Written only by the producer, after the broker has confirmed. */
  readonly producerLog: string
  /** Written only by the gateway, before it answers. */
  readonly gatewayBook: string
}

const variable = 'ONCEWARD_DEMO'

export function settingsEnvironment(settings: DemoSettings): NodeJS.ProcessEnv {
  return { ...process.env, NODE_COMPILE_CACHE: settings.compileCache, [variable]: JSON.stringify(settings) }
}

export function readSettings(): DemoSettings {
  return JSON.parse(process.env[variable]!) as DemoSettings
}

/** Exits a child whose parent has ended. */
export function endWithParent(): void {
  process.on('disconnect', () => process.exit(0))
  // Ctrl-C reaches the whole terminal group; the parent decides when each process ends.
  process.on('SIGINT', () => {})
}

export function report(message: object): void {
  if (process.connected) process.send!(message)
}

/** Sends the result of `read` a few times a second: often enough for a view, and a kill loses little. */
export function reportRegularly(read: () => object): void {
  setInterval(() => report(read()), 100).unref()
}
