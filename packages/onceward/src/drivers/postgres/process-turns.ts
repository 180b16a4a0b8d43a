import type { SqlClient } from './pool.ts'

/** First key of the advisory locks: 'writ'. The second is the consumer. */
const lockClass = 0x77726974
/** Batches below this size rarely deadlock, and a lone message should not pay for a statement more. */
const messagesMin = 16
const aloneMin = 20
const aloneMax = 10_000

/**
 * Processes of one consumer whose handlers write the same rows in different orders deadlock, and each
 * deadlock costs a second. A batch therefore shares an advisory lock with those of other processes. After a
 * deadlock the batches of this process take it alone for a while, twice as long each time.
 *
 * Rejected: always alone (two processes were then as fast as one), and to lock nothing (two processes with
 * 1,000 hot rows: 600 messages/s).
 */
export class ProcessTurns {
  readonly #pipelined: boolean
  #span = aloneMin
  #left = 0

  constructor(pipelined: boolean) {
    this.#pipelined = pipelined
  }

  /**
   * Called between the markers and the handlers. A shared lock is not awaited: the statements of the handlers
   * come after it, and fail if it failed.
   */
  async take(client: SqlClient, consumerId: number, messages: number): Promise<void> {
    if (this.#left > 0) {
      await client.query(`select pg_advisory_xact_lock(${lockClass}, ${consumerId})`)
    } else if (messages >= messagesMin) {
      const sent = client.query(`select pg_advisory_xact_lock_shared(${lockClass}, ${consumerId})`)
      if (this.#pipelined) sent.catch(() => {})
      else await sent
    }
  }

  committed(): void {
    if (this.#left > 0) this.#left--
  }

  failed(error: unknown): void {
    if ((error as { code?: unknown } | null)?.code !== '40P01') return
    this.#left = this.#span
    this.#span = Math.min(aloneMax, this.#span * 2)
  }
}
