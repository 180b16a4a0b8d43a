/** Settings that differ between development, tests and production. */
export interface Settings {
  readonly queue: string
  /** How long one statement takes to render. */
  readonly renderMs: number
  readonly leaseMs: number
}

export function readSettings(env: NodeJS.ProcessEnv = process.env): Settings {
  return {
    queue: env.STATEMENT_QUEUE ?? 'statement.requested',
    renderMs: Number(env.RENDER_MS ?? 2_000),
    leaseMs: Number(env.LEASE_MS ?? 10_000),
  }
}
