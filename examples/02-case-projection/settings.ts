export interface Settings {
  readonly topic: string
  readonly deadLetters: string
  /** With the generation behind it, the group's id on the broker. */
  readonly group: string
  /** Raised by one for a rebuild: a new generation remembers nothing and reads under a group of its own. */
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
