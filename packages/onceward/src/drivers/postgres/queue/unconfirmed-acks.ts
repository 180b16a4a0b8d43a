import type { SqlPool } from '../pool.ts'
import type { Holdings, QueueLease } from './holdings.ts'
import { settleMessages } from './settle-messages.ts'

/**
 * Tells the server which messages are done with. What it did not answer for is owed, and told again while the
 * lease lives.
 */
export class Debts {
  readonly #pool: SqlPool
  readonly #holdings: Holdings
  readonly #isCurrent: (lease: QueueLease) => boolean
  #owed: string[] = []

  constructor(pool: SqlPool, holdings: Holdings, isCurrent: (lease: QueueLease) => boolean) {
    this.#pool = pool
    this.#holdings = holdings
    this.#isCurrent = isCurrent
  }

  /** Answers how many were not there any more. Rejects when the server did not answer. */
  async pay(queueId: number, lease: QueueLease, ids: readonly string[]): Promise<number> {
    try {
      const deleted = await settleMessages(this.#pool, queueId, lease.id, ids)
      if (this.#isCurrent(lease)) this.#holdings.forget(ids)
      return ids.length - deleted
    } catch (error) {
      if (this.#isCurrent(lease)) this.#owed.push(...ids)
      throw error
    }
  }

  async payOwed(queueId: number, lease: QueueLease): Promise<void> {
    const ids = this.#owed.splice(0)
    if (ids.length > 0) await this.pay(queueId, lease, ids)
  }

  clear(): void {
    this.#owed = []
  }
}
