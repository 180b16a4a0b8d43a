import type { Delivery, DeliveryProperties } from './source.ts'

/** A record as a driver read it, before it is delivered. */
export interface LogRecord {
  readonly body: Buffer
  readonly headers: Readonly<Record<string, unknown>>
  readonly properties: DeliveryProperties
  readonly key: string | null
  /** Its cursor. */
  readonly at: string
  /** The position after it. Grows when records follow that are not delivered. */
  next: string
  /** As in `Place`. */
  readonly since?: string
  /** The lasting coordinates shown to people: `case-events/3@1207`. */
  readonly position: string
  /** Delivered by this log before, as far as the driver knows. */
  readonly redelivered: boolean
  /** The log it was read from first; absent where that is this log. */
  readonly origin?: string
  readonly archived?: Delivery['archived']
}

/** Drivers compute parts of a record on demand, in getters that a spread would miss: every part is named. */
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
