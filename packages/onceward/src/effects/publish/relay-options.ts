import type { SqlPool } from '../../drivers/postgres/pool.ts'
import type { Environment } from '../../environment.ts'
import type { Publisher } from '../../ports/publisher.ts'

export interface RelayOptions {
  readonly pool: SqlPool
  /** The kind: `rabbitmq`, `kafka` or `postgres`. */
  readonly broker: string
  /**
   * Which rows of the outbox: those that name this destination. Default the kind itself, as for `postgres`.
   */
  readonly destination?: string
  /** Not closed by the relay. `same database`: rows are moved into queues there. */
  readonly publisher: Publisher | 'same database'
  readonly env: Environment
  readonly instance?: string
  /** Rows in one round at most. Default 500. */
  readonly batchMax?: number
  /**
   * Rounds at a time, each with other buckets. Default 2; 4 to RabbitMQ, where a round is mostly a wait for
   * confirms.
   */
  readonly roundsMax?: number
  /** Default 15 s. A round whose confirms take longer is given up. */
  readonly publishTimeoutMs?: number
  /** Called when the broker has refused a message. */
  readonly onRefused?: (() => void) | undefined
  /** How long the buckets of a relay that died wait for another. Default 10 s. */
  readonly leaseMs?: number
}

export interface RelayTally {
  readonly published: number
  readonly failures: number
  /** Keys, and rows without one, that wait behind a failure. */
  readonly failing: number
  readonly buckets: number
  readonly storeAway: boolean
  readonly brokerAway: boolean
}
