export interface Settings {
  readonly readings: string
  readonly alarms: string
  readonly group: string
  readonly registryUrl: string
  /** Keeps schemas over a restart; undefined keeps them in memory. */
  readonly schemaFolder: string | undefined
}

export function readSettings(environment: NodeJS.ProcessEnv = process.env): Settings {
  return {
    readings: environment.READINGS_TOPIC ?? 'readings',
    alarms: environment.ALARMS_TOPIC ?? 'alarms',
    group: environment.READINGS_GROUP ?? 'meter-readings',
    registryUrl: environment.SCHEMA_REGISTRY_URL ?? 'http://localhost:8081',
    schemaFolder: environment.SCHEMA_FOLDER,
  }
}
