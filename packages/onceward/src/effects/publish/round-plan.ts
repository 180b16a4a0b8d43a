/** The rows that one poll reads at most. */
export interface RoundRequest {
  readonly buckets: readonly number[]
  readonly perBucketMax: number
  readonly max: number
  /** False when free buckets were left for the next poll. */
  readonly all: boolean
}

/**
 * Selects the buckets of a round. A bucket is in one round at a time, and so is a key. Under load a round
 * takes only a share of the buckets, so the next round can be read and published while this one waits for
 * confirms. The plan rotates through the buckets.
 */
export class RoundPlan {
  readonly #batchMax: number
  readonly #roundsMax: number
  readonly #busy = new Set<number>()
  #rounds = 0
  #turn = 0
  #loaded = false
  /** Buckets that had rows in the last round. The next round's rows are divided among them. */
  #filled = 1

  constructor(batchMax: number, roundsMax: number) {
    this.#batchMax = batchMax
    this.#roundsMax = roundsMax
  }

  get rounds(): number {
    return this.#rounds
  }

  get busy(): readonly number[] {
    return [...this.#busy]
  }

  /** Null when no further round may start now. */
  next(owned: readonly number[]): RoundRequest | null {
    if (this.#rounds >= this.#roundsMax) return null
    const from = owned.findIndex(bucket => bucket >= this.#turn)
    const turned = from <= 0 ? owned : [...owned.slice(from), ...owned.slice(0, from)]
    const free = turned.filter(bucket => !this.#busy.has(bucket))
    if (free.length === 0) return null
    const part = this.#loaded ? Math.ceil(owned.length / this.#roundsMax) : free.length
    const perBucketMax = Math.ceil(this.#batchMax / Math.min(this.#filled, part))
    return {
      buckets: free.slice(0, part),
      perBucketMax,
      max: this.#batchMax,
      all: part >= free.length,
    }
  }

  /** Whether more rows may be available immediately. */
  more(asked: RoundRequest, found: readonly { readonly bucket: number; readonly rows: number }[]): boolean {
    const total = found.reduce((sum, { rows }) => sum + rows, 0)
    this.#filled = Math.max(1, found.length)
    this.#loaded = total >= asked.max || found.some(({ rows }) => rows >= asked.perBucketMax)
    this.#turn = ((found.at(-1)?.bucket ?? asked.buckets.at(-1)!) + 1) % 32
    return this.#loaded || !asked.all
  }

  /** Returns the function that ends the round. */
  begin(buckets: readonly number[]): () => void {
    for (const bucket of buckets) this.#busy.add(bucket)
    this.#rounds++
    return () => {
      for (const bucket of buckets) this.#busy.delete(bucket)
      this.#rounds--
    }
  }
}
