/**
 * Tracks unsettled deliveries and decides how many to request from the broker.
 *
 * The protocol has no prefetch by bytes. The count is derived from the mean body size. It starts as if bodies
 * had `assumedBodyBytes`, takes the true mean after `trialArrivals`, and then follows larger bodies quickly
 * and smaller ones slowly. A change of the mean can still exceed the byte budget by the deliveries already
 * allowed, at most one prefetch. The consumer is then cancelled until half of the budget is free.
 */
export class InFlight {
  readonly #countMax: number
  readonly #bytesMax: number
  #meanBytes = assumedBodyBytes
  #arrivals = 0
  #trialBytes = 0
  #count = 0
  #bytes = 0

  constructor(countMax: number, bytesMax: number) {
    this.#countMax = Math.max(1, countMax)
    this.#bytesMax = Math.max(1, bytesMax)
  }

  get count(): number {
    return this.#count
  }

  get bytes(): number {
    return this.#bytes
  }

  arrived(bytes: number): void {
    this.#count++
    this.#bytes += bytes
    this.#arrivals++
    if (this.#arrivals <= trialArrivals) this.#trialBytes += bytes
    if (this.#arrivals === trialArrivals) this.#meanBytes = this.#trialBytes / trialArrivals
    const weight = bytes > this.#meanBytes ? 1 / Math.min(64, 8 + this.#arrivals) : 1 / 256
    this.#meanBytes += (bytes - this.#meanBytes) * weight
  }

  settled(bytes: number): void {
    this.#count--
    this.#bytes -= bytes
  }

  /**
   * Adds bytes held by deliveries of other consumers than the one whose prefetch this decides; negative when
   * released.
   */
  addBeside(bytes: number): void {
    this.#bytes += bytes
  }

  /** The broker has requeued everything. */
  clear(): void {
    this.#count = 0
    this.#bytes = 0
  }

  /** Deliveries to request when none is held. Protocol maximum 65,535. */
  get wanted(): number {
    return clamp(this.#bytesMax / Math.max(1, this.#meanBytes), this.#countMax)
  }

  /**
   * Deliveries to request in addition to those held: deliveries of a cancelled consumer do not count against
   * the next one's prefetch.
   */
  get room(): number {
    const byBytes = (this.#bytesMax - this.#bytes) / Math.max(1, this.#meanBytes)
    return clamp(Math.min(byBytes, this.#countMax - this.#count), this.wanted)
  }

  /** The number to request when it must never change: it follows from the contract alone. */
  get constant(): number {
    return clamp(this.#bytesMax / assumedBodyBytes, this.#countMax)
  }

  get isOver(): boolean {
    return this.#bytes > this.#bytesMax
  }

  /** Over budget, or about to be with a prefetch that no longer fits. */
  mustPause(prefetch: number): boolean {
    return this.isOver || (this.#bytes > this.#bytesMax / 2 && this.wanted <= prefetch / 2)
  }

  get mayResume(): boolean {
    return this.#bytes <= this.#bytesMax / 2 && this.#count < this.#countMax
  }

  /** True when a consumer opened with `prefetch` has shown that bodies are small enough for much more. */
  mayRaise(prefetch: number, arrivalsSince: number): boolean {
    return arrivalsSince >= trialArrivals && this.wanted >= 1.5 * prefetch
  }
}

const assumedBodyBytes = 256 * 1024
const trialArrivals = 64

function clamp(value: number, max: number): number {
  return Math.max(1, Math.min(65_535, max, Math.floor(value)))
}
