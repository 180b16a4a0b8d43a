import { OncewardError } from '../errors.ts'
import type { LostLease, WorkLease } from '../ports/held-work.ts'
import type { Delivery } from '../ports/source.ts'

interface Watch {
  readonly claims: readonly WorkLease[]
  readonly onLost: (error: Error) => void
}

/**
 * The unfinished leases of one worker process, and the batches to notify when one is lost. A postponed row
 * may be leased again before the end of its last lease is known here, so leases are compared, never rows.
 */
export class LeasedRows {
  readonly #claims = new Map<string, WorkLease>()
  readonly #watches = new Set<Watch>()
  #gone: ReadonlySet<string> = new Set()

  get size(): number {
    return this.#claims.size
  }

  get claims(): readonly WorkLease[] {
    return [...this.#claims.values()]
  }

  add(claims: readonly WorkLease[]): void {
    for (const claim of claims) this.#claims.set(claim.row, claim)
  }

  has({ row, epoch }: WorkLease): boolean {
    return this.#claims.get(row)?.epoch === epoch
  }

  forget(claims: readonly WorkLease[]): void {
    for (const claim of claims) if (this.has(claim)) this.#claims.delete(claim.row)
  }

  /**
   * Leases that the store could not extend. A missing row may just have been finished by this process, with
   * the answer still on its way; missing at the second check, it is lost. Returns the number of lost leases.
   */
  notOurs(claims: readonly LostLease[]): number {
    const lost = claims.filter(claim => this.has(claim) && (claim.taken || this.#gone.has(claim.row)))
    this.#gone = new Set(claims.filter(({ taken }) => !taken).map(({ row }) => row))
    this.lose(lost)
    return lost.length
  }

  lose(claims: readonly WorkLease[]): void {
    if (claims.length === 0) return
    this.forget(claims)
    const gone = new Map(claims.map(({ row, epoch }) => [row, epoch]))
    for (const watch of this.#watches) {
      const touched = watch.claims.filter(({ row, epoch }) => gone.get(row) === epoch)
      if (touched.length > 0) this.#notify(watch, touched)
    }
  }

  watch(deliveries: readonly Delivery[], onLost: (error: Error) => void): () => void {
    const watch: Watch = { claims: deliveries.map(({ held }) => held!), onLost }
    this.#watches.add(watch)
    return () => void this.#watches.delete(watch)
  }

  #notify(watch: Watch, claims: readonly WorkLease[]): void {
    this.#watches.delete(watch)
    watch.onLost(
      new OncewardError(
        'lease_lost',
        `The lease of ${claims.length} stored message${claims.length === 1 ? '' : 's'} expired while a handler was running. Nothing was committed; another worker has them.`,
        { details: { rows: claims.map(({ row }) => row) } },
      ),
    )
  }
}
