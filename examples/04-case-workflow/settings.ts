export interface Settings {
  readonly queue: string
  /** Steps that happened: the workflow publishes them, the alerts read them. */
  readonly moveQueue: string
  /** How long the messages of a killed process wait for another. */
  readonly leaseMs: number
}

export function readSettings(environment: NodeJS.ProcessEnv = process.env): Settings {
  return {
    queue: environment.CASE_QUEUE ?? 'case-steps',
    moveQueue: environment.CASE_MOVE_QUEUE ?? 'case-moves',
    leaseMs: Number(environment.CASE_LEASE_MS ?? 10_000),
  }
}
