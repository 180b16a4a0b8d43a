import type { Member } from './kafka-client.ts'

/** A time by two clocks: the steady one stops while a machine sleeps, the wall clock can be set. */
export interface Moment {
  readonly steadyMs: number
  readonly wallMs: number
}

export function now(): Moment {
  return { steadyMs: performance.now(), wallMs: Date.now() }
}

/** The larger elapsed time of the two clocks: a member that ends too early only joins again. */
function passedMs(since: Moment): number {
  return Math.max(performance.now() - since.steadyMs, Date.now() - since.wallMs)
}

/**
 * One membership in the group. It ends when the broker ends it, and locally once the last confirmed heartbeat
 * is older than the session. Without the local end, a frozen process would start on fresh records before it
 * learns that another member owns them.
 */
export class GroupMember implements Member {
  readonly id: string
  epoch: number
  readonly #sessionMs: number
  #lastGood: Moment
  #ended = false

  constructor(id: string, epoch: number, sessionMs: number) {
    this.id = id
    this.epoch = epoch
    this.#sessionMs = sessionMs
    this.#lastGood = now()
  }

  get live(): boolean {
    return !this.#ended && !this.isOverdue
  }

  get ended(): boolean {
    return this.#ended
  }

  get isOverdue(): boolean {
    return passedMs(this.#lastGood) >= this.#sessionMs
  }

  /**
   * Records that the broker confirmed this member in answer to a request sent then. Ignored when the member
   * is overdue.
   */
  good(sent: Moment): void {
    if (!this.isOverdue && sent.steadyMs > this.#lastGood.steadyMs) this.#lastGood = sent
  }

  end(): void {
    this.#ended = true
  }
}
