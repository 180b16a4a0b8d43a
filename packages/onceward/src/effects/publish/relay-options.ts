import type { SqlPool } from '../../drivers/postgres/pool.ts'
import type { Environment } from '../../environment.ts'
import type { Publisher } from '../../ports/publisher.ts'

export interface RelayOptions {
  readonly pool: SqlPool
  /** The kind: `rabbitmq`, `kafka` or `postgres`. */
  readonly broker: string
  /** The relay publishes the outbox rows that name this destination. Default: the kind, as for `postgres`. */
  readonly destination?: string
  /** The relay does not close it. `same database`: rows are moved to queues of the same database. */
  readonly publisher: Publisher | 'same database'
  readonly env: Environment
  readonly instance?: string
  /** Maximum rows in one round. Default 500. */
  readonly batchMax?: number
  /**
   * Concurrent rounds, each with its own buckets. Default 2; for RabbitMQ 4, because a round mostly waits for
   * confirms.
   */
  readonly roundsMax?: number
  /** Default 15 s. The relay abandons a round whose confirms take longer. */
  readonly publishTimeoutMs?: number
  /** Called when the broker has refused a message. */
  readonly onRefused?: (() => void) | undefined
  /** How long the buckets of a crashed relay wait for another relay. Default 10 s. */
  readonly leaseMs?: number
}

export interface RelayTally {
  readonly published: number
  readonly failures: number
  /** Keys, and rows without a key, that wait after a failure. */
  readonly failing: number
  readonly buckets: number
  readonly storeUnavailable: boolean
  readonly brokerAway: boolean
}
