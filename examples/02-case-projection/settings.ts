export interface Settings {
  readonly topic: string
  readonly deadLetters: string
  /** The group's id on the broker, followed by the generation. */
  readonly group: string
  /** Raised by one for a rebuild: a new generation has no markers and reads in a separate group. */
  readonly generation: number
  /** Kafka's session time-out: how long the partitions of a killed process wait for another. */
  readonly sessionTimeoutMs: number
}

export function readSettings(environment: NodeJS.ProcessEnv = process.env): Settings {
  return {
    topic: environment.CASE_TOPIC ?? 'case-events',
    deadLetters: environment.CASE_DEAD_LETTERS ?? 'case-events-dlq',
    group: environment.CASE_GROUP ?? 'case-projection',
    generation: Number(environment.CASE_GENERATION ?? 1),
    sessionTimeoutMs: Number(environment.CASE_SESSION_TIMEOUT_MS ?? 10_000),
  }
}
