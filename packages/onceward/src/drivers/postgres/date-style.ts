import type { EventEmitter } from 'node:events'
import pg from 'pg'

interface ParameterStatus {
  readonly parameterName: string
  readonly parameterValue: string
}

/**
 * A client of `pg` that reads the date style which the server reports at connect. This costs no statement.
 */
export class ListeningClient extends pg.Client {
  styleOfRole: string | null = null

  constructor(config?: pg.ClientConfig) {
    super(config)
    const { connection } = this as unknown as { connection: EventEmitter }
    connection.on('parameterStatus', ({ parameterName, parameterValue }: ParameterStatus) => {
      if (parameterName === 'DateStyle') this.styleOfRole ??= parameterValue
    })
  }
}

const isReadable = (client: object) =>
  (client as Partial<ListeningClient>).styleOfRole?.startsWith('ISO') ?? true

/**
 * `pg` parses times in ISO style only, and a role or a database may use another. Sent before any other
 * statement.
 */
export function writeIsoTimes(client: pg.ClientBase): void {
  if (!isReadable(client)) client.query('set datestyle to iso').catch(() => {})
}

/** Restores the date style of the role for the transaction of a handler. */
export function styleOfRole(client: object): string {
  return isReadable(client) ? '' : '; set local datestyle to default'
}
