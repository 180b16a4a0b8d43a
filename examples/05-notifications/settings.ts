export interface Settings {
  readonly queue: string
  readonly mailHost: string
  readonly mailPort: number
  readonly webhookUrl: string
}

export function readSettings(environment: NodeJS.ProcessEnv = process.env): Settings {
  return {
    queue: environment.NOTIFICATION_QUEUE ?? 'order.shipped.notify',
    mailHost: environment.MAIL_HOST ?? '127.0.0.1',
    mailPort: Number(environment.MAIL_PORT ?? 1_025),
    webhookUrl: environment.WEBHOOK_URL ?? 'http://127.0.0.1:8095/hooks/shipments',
  }
}
