import { joinRelays, removeRelay, shareBuckets } from '../../drivers/postgres/outbox/share-buckets.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import type { Environment } from '../../environment.ts'

export interface BucketLeaseOptions {
  readonly pool: SqlPool
  readonly destination: string
  readonly instance: string
  readonly leaseMs: number
  readonly env: Environment
}

/**
 * This relay's share of the buckets.
 *
 *   new ──join──▶ live ──refreshed in time──▶ live … ──expired, deleted by another──▶ new, without buckets
 *
 * A relay is alive while its row exists. The database's clock decides when another relay may delete the row.
 * Two relays that briefly own the same bucket publish some rows twice, under the same ids and still in order
 * (see docs/publish.md).
 */
export class BucketLeases {
  readonly #options: BucketLeaseOptions
  #relayId: string | null = null
  #buckets: readonly number[] = []
  #refreshedMs = Number.NEGATIVE_INFINITY

  constructor(options: BucketLeaseOptions) {
    this.#options = options
  }

  get buckets(): readonly number[] {
    return this.#buckets
  }

  /**
   * Measured by this process's clock. A process that was frozen detects here that another relay may have its
   * buckets.
   */
  get live(): boolean {
    return this.#ageMs() < this.#options.leaseMs
  }

  get due(): boolean {
    return this.#ageMs() >= this.#options.leaseMs / 3
  }

  /**
   * Extends the lease, deletes relays whose lease expired, and takes or releases buckets until all relays own
   * about as many.
   */
  async refresh(busy: readonly number[]): Promise<void> {
    const { pool, destination, leaseMs, env } = this.#options
    this.#relayId ??= await joinRelays(pool, this.#options)
    const relayId = this.#relayId
    const requestedMs = env.clock.nowMs()
    const buckets = await shareBuckets(pool, { relayId, destination, leaseMs, busy })
    if (buckets === null) return this.#lost()
    this.#buckets = buckets
    this.#refreshedMs = requestedMs
    env.reach('relay.leased')
  }

  /** Another relay may take the buckets immediately. */
  async leave(): Promise<void> {
    const relayId = this.#relayId
    this.#lost()
    if (relayId !== null) await removeRelay(this.#options.pool, relayId)
  }

  #lost(): void {
    this.#relayId = null
    this.#buckets = []
    this.#refreshedMs = Number.NEGATIVE_INFINITY
  }

  #ageMs(): number {
    return this.#options.env.clock.nowMs() - this.#refreshedMs
  }
}
