import type { SilentRun } from '../../ports/suspects.ts'

/** A run without a heartbeat since another began is silent to that one: no clock here could say more. */
export class MemoryRuns {
  readonly #open = new Map<
    number,
    { readonly scope: string; readonly deliveriesMax: number; readonly beganAt: number; heardAt: number }
  >()
  readonly #closed = new Set<number>()
  #ticks = 0

  begin(runId: number, scope: string, deliveriesMax: number): void {
    this.#ticks++
    this.#open.set(runId, { scope, deliveriesMax, beganAt: this.#ticks, heardAt: this.#ticks })
  }

  end(runIds: readonly number[]): void {
    for (const runId of runIds) this.#open.delete(runId)
  }

  /** It was closed. */
  close(runId: number): void {
    this.#closed.add(runId)
    this.end([runId])
  }

  isClosed(runId: number): boolean {
    return this.#closed.has(runId)
  }

  beat(runId: number): readonly SilentRun[] {
    const me = this.#open.get(runId)
    if (me === undefined) return []
    me.heardAt = ++this.#ticks
    return [...this.#open]
      .filter(([, run]) => run !== me && run.scope === me.scope && run.heardAt <= me.beganAt)
      .map(([id, { deliveriesMax }]) => ({ runId: id, deliveriesMax }))
  }
}
