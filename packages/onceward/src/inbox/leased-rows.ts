import { OncewardError } from '../errors.ts'
import type { LostLease, WorkLease } from '../ports/held-work.ts'
import type { Delivery } from '../ports/source.ts'

interface Watch {
  readonly claims: readonly WorkLease[]
  readonly onLost: (error: Error) => void
}

/**
 * What one worker process has claimed and not finished, and who wants to know when a claim is lost. A row
 * that was put off may be claimed again before the end of its last claim is heard of here, so everything is
 * about a claim, never about a row.
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
   * What the store did not know as ours. A row that is gone may just have been finished by us, with the
   * answer still on its way; gone at the second look it is lost. Answers how many are.
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
      if (touched.length > 0) this.#tell(watch, touched)
    }
  }

  watch(deliveries: readonly Delivery[], onLost: (error: Error) => void): () => void {
    const watch: Watch = { claims: deliveries.map(({ held }) => held!), onLost }
    this.#watches.add(watch)
    return () => void this.#watches.delete(watch)
  }

  #tell(watch: Watch, claims: readonly WorkLease[]): void {
    this.#watches.delete(watch)
    watch.onLost(
      new OncewardError(
        'lease_lost',
        `The lease of ${claims.length} stored message${claims.length === 1 ? '' : 's'} ran out while a handler was at work. Nothing was committed; another worker has them.`,
        { details: { rows: claims.map(({ row }) => row) } },
      ),
    )
  }
}
