import { OncewardError } from '../../../errors.ts'
import { assertKnownOptions } from '../../../ports/known-options.ts'

export interface PostgresQueueOptions {
  /**
   * Messages of one key go to one subscription at a time, in order. Lease and settle cost the server 27 us a
   * message instead of 15.
   */
  readonly keyOrder?: boolean
  /**
   * How long a subscription without heartbeat keeps its messages. Default 30 s; extended every third of it.
   */
  readonly leaseMs?: number
  /** The database of the queue, if it differs from that of the store. */
  readonly url?: string
}

/** A queue in PostgreSQL as the source of a contract, as plain data. */
export type PostgresQueue = PostgresQueueOptions & { readonly kind: 'postgres'; readonly queue: string }

const leaseMinMs = 100
const optionNames: readonly (keyof PostgresQueueOptions)[] = ['keyOrder', 'leaseMs', 'url']

/** The PostgreSQL queue that a consumer reads, as the `source` of its contract. */
export function postgresQueue(name: string, options: PostgresQueueOptions = {}): PostgresQueue {
  if (typeof name !== 'string' || name.length === 0 || name.length > 200) {
    throw new OncewardError('configuration', 'A queue name has 1 to 200 characters. Nothing was started.')
  }
  assertKnownOptions(`PostgreSQL queue ${name}`, options, optionNames)
  const { leaseMs } = options
  if (leaseMs !== undefined && !(Number.isInteger(leaseMs) && leaseMs >= leaseMinMs)) {
    throw new OncewardError(
      'configuration',
      `leaseMs of queue ${name} must be a whole number of at least ${leaseMinMs}. Nothing was started.`,
    )
  }
  return { kind: 'postgres', queue: name, ...options }
}
