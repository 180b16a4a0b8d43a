export const demoBrokers = ['postgres', 'rabbitmq', 'stream', 'kafka'] as const
export type DemoBroker = (typeof demoBrokers)[number]

/** Null where the run does without. */
export interface ServerAddresses {
  readonly rabbitmqUrl: string | null
  readonly rabbitmqStreamUrl: string | null
  readonly kafkaBootstrap: string | null
}

/**
 * What every process of one demo run must agree on. Children read it from the environment: it carries
 * passwords.
 */
export interface DemoSettings extends ServerAddresses {
  readonly broker: DemoBroker
  readonly seed: number
  readonly messages: number
  /** How long the producer takes, so that the kills find work under way. */
  readonly produceMs: number
  /** The queue, topic or super stream. */
  readonly queue: string
  readonly deadLetters: string
  readonly databaseUrl: string
  readonly gatewayUrl: string
  /** Node keeps compiled modules here: a restart then takes a fraction of its time. */
  readonly compileCache: string
  /** Written by the producer after the broker has confirmed, by nobody else. */
  readonly producerLog: string
  /** Written by the gateway before it answers, by nobody else. */
  readonly gatewayBook: string
}

const variable = 'ONCEWARD_DEMO'

export function settingsEnvironment(settings: DemoSettings): NodeJS.ProcessEnv {
  return { ...process.env, NODE_COMPILE_CACHE: settings.compileCache, [variable]: JSON.stringify(settings) }
}

export function readSettings(): DemoSettings {
  return JSON.parse(process.env[variable]!) as DemoSettings
}

/** A child whose parent is gone has nobody to report to. */
export function endWithParent(): void {
  process.on('disconnect', () => process.exit(0))
  // Ctrl-C reaches the whole terminal group; the parent decides who ends when.
  process.on('SIGINT', () => {})
}

export function report(message: object): void {
  if (process.connected) process.send!(message)
}

/** Sends what `read` says a few times a second: often enough for a view, and little is missed by a kill. */
export function reportRegularly(read: () => object): void {
  setInterval(() => report(read()), 100).unref()
}
