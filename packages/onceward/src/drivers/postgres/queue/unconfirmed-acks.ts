import type { SqlPool } from '../pool.ts'
import type { Holdings, QueueLease } from './holdings.ts'
import { settleMessages } from './settle-messages.ts'

/**
 * Deletes settled messages. Settlements without an answer are kept, and repeated while the lease is valid.
 */
export class UnconfirmedAcks {
  readonly #pool: SqlPool
  readonly #holdings: Holdings
  readonly #isCurrent: (lease: QueueLease) => boolean
  #unconfirmed: string[] = []

  constructor(pool: SqlPool, holdings: Holdings, isCurrent: (lease: QueueLease) => boolean) {
    this.#pool = pool
    this.#holdings = holdings
    this.#isCurrent = isCurrent
  }

  /** Returns how many messages were already gone. Rejects if the server did not answer. */
  async acknowledge(queueId: number, lease: QueueLease, ids: readonly string[]): Promise<number> {
    try {
      const deleted = await settleMessages(this.#pool, queueId, lease.id, ids)
      if (this.#isCurrent(lease)) this.#holdings.forget(ids)
      return ids.length - deleted
    } catch (error) {
      if (this.#isCurrent(lease)) this.#unconfirmed.push(...ids)
      throw error
    }
  }

  async retry(queueId: number, lease: QueueLease): Promise<void> {
    const ids = this.#unconfirmed.splice(0)
    if (ids.length > 0) await this.acknowledge(queueId, lease, ids)
  }

  clear(): void {
    this.#unconfirmed = []
  }
}
