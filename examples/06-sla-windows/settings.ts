export interface Settings {
  readonly queue: string
  /** How long the messages of a killed process wait for another. */
  readonly leaseMs: number
}

export function readSettings(environment: NodeJS.ProcessEnv = process.env): Settings {
  return {
    queue: environment.SLA_QUEUE ?? 'requests-answered',
    leaseMs: Number(environment.SLA_LEASE_MS ?? 10_000),
  }
}
