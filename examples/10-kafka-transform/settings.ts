export interface Settings {
  readonly raw: string
  readonly converted: string
  readonly large: string
  readonly dead: string
  readonly group: string
  /** A stable name of this process; undefined for a process that has none. */
  readonly instance: string | undefined
}

export function readSettings(environment: NodeJS.ProcessEnv = process.env): Settings {
  return {
    raw: environment.PAYMENTS_RAW ?? 'payments.raw',
    converted: environment.PAYMENTS_CONVERTED ?? 'payments.eur',
    large: environment.PAYMENTS_LARGE ?? 'payments.large',
    dead: environment.PAYMENTS_DEAD ?? 'payments.dead',
    group: environment.PAYMENTS_GROUP ?? 'payment-converter',
    instance: environment.PAYMENTS_INSTANCE,
  }
}
