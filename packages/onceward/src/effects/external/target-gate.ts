import type { FreeTarget } from './claim-effects.ts'
import type { Judgement } from './judge-answer.ts'
import type { Target } from './target.ts'

/** Keeps calls to one target within its concurrency, and away from it while it asks for a pause. */
export class TargetGate {
  readonly target: Target
  #inside = 0
  #closedUntilMs = 0

  constructor(target: Target) {
    this.target = target
  }

  enter(): void {
    this.#inside++
  }

  leave(): void {
    this.#inside--
  }

  /** Stays away for as long as the answer asks, within the target's longest delay; says how long. */
  heed({ misconfigured, retryAfterMs }: Judgement, nowMs: number): number {
    const { delayMaxMs } = this.target
    const pauseMs = misconfigured ? delayMaxMs : Math.min(retryAfterMs ?? 0, delayMaxMs)
    if (pauseMs > 0) this.#closedUntilMs = Math.max(this.#closedUntilMs, nowMs + pauseMs)
    return pauseMs
  }

  free(nowMs: number): FreeTarget {
    return {
      target: this.target,
      slots: nowMs < this.#closedUntilMs ? 0 : this.target.concurrencyMax - this.#inside,
    }
  }
}
