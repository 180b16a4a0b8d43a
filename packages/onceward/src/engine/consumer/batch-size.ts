/** How long the handlers of one batch should take at most: longer holds row locks and delays settling. */
const targetMs = 1_000

/**
 * Cuts batches by elapsed time: halves towards the target after a slow one, doubles back when there is room.
 */
export class BatchSize {
  readonly #max: number
  #now: number

  /** `from`: what to begin with, where it is not known yet how slow the work is. */
  constructor({ sizeMax }: { readonly sizeMax: number }, from = sizeMax) {
    this.#max = sizeMax
    this.#now = from
  }

  get now(): number {
    return this.#now
  }

  /** `limited`: it could not be more, which says only how long each may take. */
  took(count: number, elapsedMs: number, limited = false): void {
    if (limited) return this.took(this.#now, (elapsedMs * this.#now) / count)
    if (elapsedMs > targetMs && count > 1) {
      this.#now = Math.max(1, Math.min(this.#now, Math.floor((count * targetMs) / elapsedMs)))
    } else if (elapsedMs < targetMs / 2 && count >= this.#now) {
      this.#now = Math.min(this.#max, this.#now * 2)
    }
  }
}
