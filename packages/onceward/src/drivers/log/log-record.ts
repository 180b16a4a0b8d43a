import type { Delivery, DeliveryProperties } from '../../ports/source.ts'

/** A record as a driver read it, before it is handed over. */
export interface LogRecord {
  readonly body: Buffer
  readonly headers: Readonly<Record<string, unknown>>
  readonly properties: DeliveryProperties
  readonly key: string | null
  /** Its cursor. */
  readonly at: string
  /** Where to read on after it; grows when the log goes on with records nobody is shown. */
  next: string
  /** As in `Place`. */
  readonly since?: string
  /** The lasting coordinates people see: `case-events/3@1207`. */
  readonly position: string
  /** Handed over by this log before, as far as the driver knows. */
  readonly redelivered: boolean
  /** Where it came from before it was read here; absent where that is the log itself. */
  readonly origin?: string
  readonly archived?: Delivery['archived']
}

/** Drivers make parts of a record for whoever asks, so that it cannot be spread: every part is named. */
export function recordWith(record: LogRecord, changes: Partial<LogRecord>): LogRecord {
  const { body, headers, properties, key, at, next, position, redelivered, since, origin, archived } = record
  return {
    ...{ body, headers, properties, key, at, next, position, redelivered },
    ...(since !== undefined && { since }),
    ...(origin !== undefined && { origin }),
    ...(archived !== undefined && { archived }),
    ...changes,
  }
}
