import { retryDelayMs } from '../../engine/retry-delay.ts'
import type { Surroundings } from '../../surroundings.ts'

const delayMinMs = 100
const delays = { delayMs: 1_000, delayMaxMs: 60_000 }
/** A queue with this many failing rows is left alone until some of them are due: the trouble is the queue's. */
const perQueueMax = 100
const forgetAfterMs = 300_000

interface Failed {
  readonly queue: string
  readonly failures: number
  readonly untilMs: number
}

/**
 * Outbox rows that could not be published, and until when each is left alone. Kept in memory only: a relay that starts anew tries
 * them at once, which is harmless.
 */
export class FailedRows {
  readonly #world: Pick<Surroundings, 'clock' | 'random'>
  readonly #rows = new Map<string, Failed>()

  constructor(world: Pick<Surroundings, 'clock' | 'random'>) {
    this.#world = world
  }

  get count(): number {
    return this.#rows.size
  }

  add(id: string, queue: string): void {
    const failures = (this.#rows.get(id)?.failures ?? 0) + 1
    const delayMs = retryDelayMs({ attempts: failures, random: this.#world.random() }, delays)
    this.#rows.set(id, {
      queue,
      failures,
      untilMs: this.#world.clock.nowMs() + Math.max(delayMinMs, delayMs),
    })
  }

  remove(id: string): void {
    this.#rows.delete(id)
  }

  /** What the next round must not take. */
  waiting(): { readonly ids: readonly string[]; readonly queues: readonly string[] } {
    const nowMs = this.#world.clock.nowMs()
    const ids: string[] = []
    const perQueue = new Map<string, number>()
    for (const [id, { queue, untilMs }] of this.#rows) {
      if (untilMs + forgetAfterMs < nowMs) this.#rows.delete(id)
      if (untilMs <= nowMs) continue
      ids.push(id)
      perQueue.set(queue, (perQueue.get(queue) ?? 0) + 1)
    }
    const queues = [...perQueue].filter(([, count]) => count >= perQueueMax).map(([queue]) => queue)
    return { ids, queues }
  }
}
