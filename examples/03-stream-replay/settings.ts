export interface Settings {
  readonly stream: string
  readonly notifierUrl: string
  /** Raised by one for a rebuild: a new generation has no position, so it starts at the first record. */
  readonly generation: number
}

export function readSettings(environment: NodeJS.ProcessEnv = process.env): Settings {
  return {
    stream: environment.PARCEL_STREAM ?? 'parcel-scans',
    notifierUrl: environment.PARCEL_NOTIFIER_URL ?? 'http://127.0.0.1:8091/notifications',
    generation: Number(environment.PARCEL_GENERATION ?? 1),
  }
}
