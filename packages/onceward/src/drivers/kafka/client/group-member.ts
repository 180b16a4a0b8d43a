import type { Member } from './kafka-client.ts'

/** When something was sent, by two clocks: one of them stops while a machine sleeps, the other can be set. */
export interface Moment {
  readonly steadyMs: number
  readonly wallMs: number
}

export function now(): Moment {
  return { steadyMs: performance.now(), wallMs: Date.now() }
}

/** Whatever either clock says has passed: a member that ends too early only joins again. */
function passedMs(since: Moment): number {
  return Math.max(performance.now() - since.steadyMs, Date.now() - since.wallMs)
}

/**
 * One life in the group. It ends when the broker says so, and by itself once the last good heartbeat was sent
 * longer ago than the session lasts: without that a process that was frozen starts on fresh records before it
 * hears that they are another's.
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

  /** The broker answered, as one that knows us, to something sent then. Too late for one that is overdue. */
  good(sent: Moment): void {
    if (!this.isOverdue && sent.steadyMs > this.#lastGood.steadyMs) this.#lastGood = sent
  }

  end(): void {
    this.#ended = true
  }
}
