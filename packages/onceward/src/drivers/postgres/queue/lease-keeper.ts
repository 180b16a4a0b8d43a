import type { SqlPool } from '../pool.ts'
import type { QueueLease } from './holdings.ts'
import { extendLease, releaseLease, takeLease } from './lease.ts'

/**
 * Holds one lease and extends it every third of its time. Each heartbeat is independent: one that hangs does
 * not delay the next. A failed heartbeat changes nothing; a refused heartbeat means that the lease expired,
 * and `onLost` is called once.
 */
export class LeaseKeeper {
  readonly #pool: SqlPool
  readonly #leaseMs: number
  readonly #onKept: () => void
  readonly #onLost: () => void
  #timer: NodeJS.Timeout | undefined
  #current: QueueLease | null = null

  constructor(pool: SqlPool, leaseMs: number, onKept: () => void, onLost: () => void) {
    this.#pool = pool
    this.#leaseMs = leaseMs
    this.#onKept = onKept
    this.#onLost = onLost
  }

  get current(): QueueLease | null {
    return this.#current
  }

  get live(): boolean {
    return this.#current !== null && performance.now() < this.#current.untilMs
  }

  async take(queueId: number, holder: string): Promise<void> {
    const untilMs = performance.now() + this.#leaseMs
    const id = await takeLease(this.#pool, queueId, holder, this.#leaseMs)
    this.#current = { id, epoch: 0, untilMs }
    clearInterval(this.#timer)
    this.#timer = setInterval(() => void this.beat().catch(() => {}), this.#leaseMs / 3)
  }

  async beat(): Promise<void> {
    const lease = this.#current
    if (lease === null) return
    // After the lease looked expired here, deliveries were dropped as not live: they must not stay leased.
    if (!this.live) return this.#giveUp(lease)
    const untilMs = performance.now() + this.#leaseMs
    if (!(await extendLease(this.#pool, lease.id, this.#leaseMs))) return this.lose(lease)
    if (!this.live) return this.#giveUp(lease)
    lease.untilMs = Math.max(lease.untilMs, untilMs)
    this.#onKept()
  }

  lose(lease: QueueLease): void {
    if (this.#current !== lease) return
    this.stop()
    this.#current = null
    this.#onLost()
  }

  async #giveUp(lease: QueueLease): Promise<void> {
    await releaseLease(this.#pool, lease.id)
    this.lose(lease)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  async release(): Promise<void> {
    this.stop()
    const lease = this.#current
    this.#current = null
    if (lease !== null) await releaseLease(this.#pool, lease.id)
  }
}
