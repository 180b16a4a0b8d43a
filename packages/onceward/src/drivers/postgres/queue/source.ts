import { inert, type Reach } from '../../../crash-points.ts'
import { type Log, silent } from '../../../environment.ts'
import { OncewardError } from '../../../errors.ts'
import type { QueueSource } from '../../../ports/source.ts'
import { createPool, type SqlPool } from '../pool.ts'
import type { PostgresQueue } from './declaration.ts'
import { PostgresSubscription } from './subscription.ts'

export interface PostgresSourceOptions {
  /**
   * Required unless the declaration has a url. At most two of its connections are used at a time, briefly.
   */
  readonly pool?: SqlPool
  readonly log?: Log
  readonly reach?: Reach
  /** The name of this process in the lease table. */
  readonly instance?: string
}

/** A source that reads a PostgreSQL queue. */
export function createPostgresSource(
  declaration: PostgresQueue,
  options: PostgresSourceOptions,
): QueueSource {
  const { queue, keyOrder = false, leaseMs = 30_000, url } = declaration
  const { log = silent, reach = inert, instance = `process ${process.pid}` } = options
  const name = `postgres queue ${queue}`
  if (url === undefined && options.pool === undefined) {
    throw new OncewardError('configuration', `${name} needs a url or the store's pool. Nothing was started.`)
  }
  return {
    name,
    capabilities: {
      order: { key: keyOrder, partition: false },
      ordersByDeliveryKey: keyOrder,
      positions: false,
      deliveryCount: true,
      redelivers: true,
    },
    open(openOptions) {
      const pool = url === undefined ? options.pool! : createPool(url, { max: 4 })
      const ownsPool = url !== undefined
      return PostgresSubscription.open({
        ...openOptions,
        name,
        queue,
        keyOrder,
        leaseMs,
        pool,
        ownsPool,
        log,
        reach,
        instance,
      })
    },
  }
}
