export interface Settings {
  readonly queue: string
  readonly alertQueue: string
  /** How long the messages of a killed process wait for another. */
  readonly leaseMs: number
}

export function readSettings(environment: NodeJS.ProcessEnv = process.env): Settings {
  return {
    queue: environment.CASE_QUEUE ?? 'case-steps',
    alertQueue: environment.CASE_ALERT_QUEUE ?? 'case-steps-for-alerts',
    leaseMs: Number(environment.CASE_LEASE_MS ?? 10_000),
  }
}
