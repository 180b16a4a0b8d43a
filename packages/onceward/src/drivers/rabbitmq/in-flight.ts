/**
 * What is held unsettled, and how many deliveries to ask the broker for.
 *
 * The protocol has no prefetch by bytes. The count is derived from the mean body size: it starts as if bodies
 * had `assumedBodyBytes`, takes the true mean after `trialArrivals`, and then follows larger bodies quickly
 * and smaller ones slowly. A change of the mean can still overshoot the byte budget by what the broker had
 * been allowed to send before, at most one prefetch; then the consumer is cancelled until half of the budget
 * is free.
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
   * Bytes held, or with a minus no longer, by what is no delivery of the consumer whose prefetch this
   * decides.
   */
  addBeside(bytes: number): void {
    this.#bytes += bytes
  }

  /** The broker took everything back. */
  clear(): void {
    this.#count = 0
    this.#bytes = 0
  }

  /** Deliveries to ask for when nothing is held. Protocol maximum 65,535. */
  get wanted(): number {
    return clamp(this.#bytesMax / Math.max(1, this.#meanBytes), this.#countMax)
  }

  /**
   * The same beside what is held: deliveries of a cancelled consumer do not count against the next one's
   * prefetch.
   */
  get room(): number {
    const byBytes = (this.#bytesMax - this.#bytes) / Math.max(1, this.#meanBytes)
    return clamp(Math.min(byBytes, this.#countMax - this.#count), this.wanted)
  }

  /** What to ask for where the number may never change: it follows from the contract alone. */
  get constant(): number {
    return clamp(this.#bytesMax / assumedBodyBytes, this.#countMax)
  }

  get isOver(): boolean {
    return this.#bytes > this.#bytesMax
  }

  /** Over budget, or on the way there with a prefetch that no longer fits. */
  mustPause(prefetch: number): boolean {
    return this.isOver || (this.#bytes > this.#bytesMax / 2 && this.wanted <= prefetch / 2)
  }

  get mayResume(): boolean {
    return this.#bytes <= this.#bytesMax / 2 && this.#count < this.#countMax
  }

  /**
   * True when a consumer opened with `prefetch` has shown that bodies are small enough for a good deal more.
   */
  mayRaise(prefetch: number, arrivalsSince: number): boolean {
    return arrivalsSince >= trialArrivals && this.wanted >= 1.5 * prefetch
  }
}

const assumedBodyBytes = 256 * 1024
const trialArrivals = 64

function clamp(value: number, max: number): number {
  return Math.max(1, Math.min(65_535, max, Math.floor(value)))
}
