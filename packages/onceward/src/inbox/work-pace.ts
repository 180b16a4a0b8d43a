const windowMs = 200

/** How much work gets done in a second, by the last fifth of one that is over. */
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
