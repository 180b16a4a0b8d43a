import { OncewardError } from '../errors.ts'
import type { LostLease, WorkLease } from '../ports/held-work.ts'
import type { Delivery } from '../ports/source.ts'

interface Watch {
  readonly leases: readonly WorkLease[]
  readonly onLost: (error: Error) => void
}

/**
 * The unfinished leases of one worker process, and the batches to notify when one is lost. A postponed row
 * may be leased again before the end of its last lease is known here, so leases are compared, never rows.
 */
export class LeasedRows {
  readonly #leases = new Map<string, WorkLease>()
  readonly #watches = new Set<Watch>()
  #gone: ReadonlySet<string> = new Set()

  get size(): number {
    return this.#leases.size
  }

  get leases(): readonly WorkLease[] {
    return [...this.#leases.values()]
  }

  add(leases: readonly WorkLease[]): void {
    for (const lease of leases) this.#leases.set(lease.row, lease)
  }

  has({ row, epoch }: WorkLease): boolean {
    return this.#leases.get(row)?.epoch === epoch
  }

  forget(leases: readonly WorkLease[]): void {
    for (const lease of leases) if (this.has(lease)) this.#leases.delete(lease.row)
  }

  /**
   * Leases that the store could not extend. A missing row may just have been finished by this process, with
   * the answer still on its way; missing at the second check, it is lost. Returns the number of lost leases.
   */
  notOurs(leases: readonly LostLease[]): number {
    const lost = leases.filter(lease => this.has(lease) && (lease.taken || this.#gone.has(lease.row)))
    this.#gone = new Set(leases.filter(({ taken }) => !taken).map(({ row }) => row))
    this.lose(lost)
    return lost.length
  }

  lose(leases: readonly WorkLease[]): void {
    if (leases.length === 0) return
    this.forget(leases)
    const gone = new Map(leases.map(({ row, epoch }) => [row, epoch]))
    for (const watch of this.#watches) {
      const touched = watch.leases.filter(({ row, epoch }) => gone.get(row) === epoch)
      if (touched.length > 0) this.#notify(watch, touched)
    }
  }

  watch(deliveries: readonly Delivery[], onLost: (error: Error) => void): () => void {
    const watch: Watch = { leases: deliveries.map(({ held }) => held!), onLost }
    this.#watches.add(watch)
    return () => void this.#watches.delete(watch)
  }

  #notify(watch: Watch, leases: readonly WorkLease[]): void {
    this.#watches.delete(watch)
    watch.onLost(
      new OncewardError(
        'lease_lost',
        `The lease of ${leases.length} stored message${leases.length === 1 ? '' : 's'} expired while a handler was running. Nothing was committed; another worker has them.`,
        { details: { rows: leases.map(({ row }) => row) } },
      ),
    )
  }
}
