import type { FreeTarget } from './claim-effects.ts'
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

  close(untilMs: number): void {
    this.#closedUntilMs = Math.max(this.#closedUntilMs, untilMs)
  }

  free(nowMs: number): FreeTarget {
    return {
      target: this.target,
      slots: nowMs < this.#closedUntilMs ? 0 : this.target.concurrencyMax - this.#inside,
    }
  }
}
