import type { DeliveryProperties } from '../../contracts/source.ts'

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
  /** The lasting coordinates people see: `case-events/3@1207`. */
  readonly position: string
  /** Handed over by this log before, as far as the driver knows. */
  readonly redelivered: boolean
}
