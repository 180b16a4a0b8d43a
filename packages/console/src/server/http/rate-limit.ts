/** A token bucket for each key. */
export class RateLimit {
  readonly #perSecond: number
  readonly #burst: number
  readonly #now: () => number
  /** The key that was used last is the last. */
  readonly #buckets = new Map<string, { left: number; at: number }>()

  constructor(perSecond: number, burst: number, now: () => number = Date.now) {
    this.#perSecond = perSecond
    this.#burst = burst
    this.#now = now
  }

  allows(key: string): boolean {
    const now = this.#now()
    const bucket = this.#buckets.get(key) ?? { left: this.#burst, at: now }
    bucket.left = Math.min(this.#burst, bucket.left + ((now - bucket.at) / 1000) * this.#perSecond)
    bucket.at = now
    this.#buckets.delete(key)
    this.#buckets.set(key, bucket)
    if (this.#buckets.size > keysMax) this.#buckets.delete(this.#buckets.keys().next().value!)
    if (bucket.left < 1) return false
    bucket.left--
    return true
  }
}

const keysMax = 10_000
