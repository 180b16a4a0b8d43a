export interface Settings {
  readonly broker: 'rabbitmq' | 'postgres'
  readonly queue: string
  readonly gatewayUrl: string
  /** Raised by one for a rebuild: a new generation has no markers of the old one. */
  readonly generation: number
  /** How long the messages of a crashed process stay leased on the embedded broker. */
  readonly leaseMs: number
}

/** RabbitMQ when its address is known, otherwise the queue inside PostgreSQL. */
export function readSettings(environment: NodeJS.ProcessEnv = process.env): Settings {
  return {
    broker: environment.ONCEWARD_RABBITMQ_URL ? 'rabbitmq' : 'postgres',
    queue: environment.PAYMENT_QUEUE ?? 'payment.capture.requested.q',
    gatewayUrl: environment.PAYMENT_GATEWAY_URL ?? 'http://127.0.0.1:8090/captures',
    generation: Number(environment.PAYMENT_GENERATION ?? 1),
    leaseMs: Number(environment.PAYMENT_LEASE_MS ?? 30_000),
  }
}
