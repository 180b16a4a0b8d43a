import type { LostClaim, WorkClaim } from '../contracts/held-work.ts'
import type { Delivery } from '../contracts/source.ts'
import { OncewardError } from '../errors.ts'

interface Watch {
  readonly rows: readonly string[]
  readonly onLost: (error: Error) => void
}

/** What one worker process has claimed and not finished, and who wants to know when a claim is lost. */
export class ClaimedWork {
  readonly #claims = new Map<string, WorkClaim>()
  readonly #watches = new Set<Watch>()
  #gone: ReadonlySet<string> = new Set()

  get claims(): readonly WorkClaim[] {
    return [...this.#claims.values()]
  }

  add(claims: readonly WorkClaim[]): void {
    for (const claim of claims) this.#claims.set(claim.row, claim)
  }

  has({ held }: Delivery): boolean {
    return this.#claims.get(held!.row)?.epoch === held!.epoch
  }

  forget(rows: readonly string[]): void {
    for (const row of rows) this.#claims.delete(row)
  }

  /**
   * What the store did not know as ours. A row that is gone may just have been finished by us, with the answer still on its way; gone at the
   * second look it is lost. Answers how many are.
   */
  notOurs(claims: readonly LostClaim[]): number {
    const lost = claims.filter(({ row, taken }) => this.#claims.has(row) && (taken || this.#gone.has(row)))
    this.#gone = new Set(claims.filter(({ taken }) => !taken).map(({ row }) => row))
    this.lose(lost.map(({ row }) => row))
    return lost.length
  }

  lose(rows: readonly string[]): void {
    if (rows.length === 0) return
    this.forget(rows)
    const gone = new Set(rows)
    for (const watch of this.#watches) {
      const touched = watch.rows.filter(row => gone.has(row))
      if (touched.length > 0) this.#tell(watch, touched)
    }
  }

  watch(deliveries: readonly Delivery[], onLost: (error: Error) => void): () => void {
    const watch: Watch = { rows: deliveries.map(({ held }) => held!.row), onLost }
    this.#watches.add(watch)
    return () => void this.#watches.delete(watch)
  }

  #tell(watch: Watch, rows: readonly string[]): void {
    this.#watches.delete(watch)
    watch.onLost(
      new OncewardError(
        'claim_lost',
        `The lease of ${rows.length} stored message${rows.length === 1 ? '' : 's'} ran out while a handler was at work. Nothing was committed; another worker has them.`,
        { details: { rows } },
      ),
    )
  }
}
