/** Target time for the handlers of one batch: longer holds row locks and delays settling. */
const targetMs = 1_000

/** Sizes batches by elapsed time: shrinks towards the target after a slow batch, doubles after a fast one. */
export class BatchSize {
  readonly #max: number
  #now: number

  /** `from`: the initial size while the speed of the work is unknown. */
  constructor({ sizeMax }: { readonly sizeMax: number }, from = sizeMax) {
    this.#max = sizeMax
    this.#now = from
  }

  get now(): number {
    return this.#now
  }

  /** `limited`: the batch could not be larger, so only its time per message counts. */
  ended(count: number, elapsedMs: number, limited = false): void {
    if (limited) return this.ended(this.#now, (elapsedMs * this.#now) / count)
    if (elapsedMs > targetMs && count > 1) {
      this.#now = Math.max(1, Math.min(this.#now, Math.floor((count * targetMs) / elapsedMs)))
    } else if (elapsedMs < targetMs / 2 && count >= this.#now) {
      this.#now = Math.min(this.#max, this.#now * 2)
    }
  }
}
