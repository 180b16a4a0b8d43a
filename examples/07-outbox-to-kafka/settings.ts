export interface Settings {
  readonly topic: string
  readonly group: string
}

export function readSettings(environment: NodeJS.ProcessEnv = process.env): Settings {
  return {
    topic: environment.ORDER_TOPIC ?? 'order-events',
    group: environment.ORDER_GROUP ?? 'order-board',
  }
}
