const windowMs = 200

/** Messages finished per second, measured over the last complete 200 ms. */
export class WorkPace {
  #beganMs = 0
  #count = 0
  #perSecond = 0

  done(count: number, nowMs: number): void {
    this.#turn(nowMs)
    this.#count += count
  }

  perSecond(nowMs: number): number {
    this.#turn(nowMs)
    return this.#perSecond
  }

  #turn(nowMs: number): void {
    const elapsedMs = nowMs - this.#beganMs
    if (elapsedMs >= 0 && elapsedMs < windowMs) return
    this.#perSecond = elapsedMs > 0 ? (this.#count * 1_000) / elapsedMs : 0
    this.#beganMs = nowMs
    this.#count = 0
  }
}
