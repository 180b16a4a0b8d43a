import type { Timers } from '../../environment.ts'
import type { Received } from '../../message/received.ts'
import type { Decided } from '../batch/batch-attempt.ts'
import { isUnvalidated } from '../consumer/intake.ts'
import type { Lanes } from '../consumer/lanes.ts'

/**
 * Unsettled deliveries that wait for their next attempt. The store counts their attempts, so a crash loses
 * only the rest of the delay: the broker redelivers them. With order, the whole lane waits behind its head.
 */
export class PendingRetries {
  readonly #lanes: Lanes
  readonly #timers: Timers
  readonly #isLive: (received: Received) => boolean
  readonly #readAgain: (received: Received) => void
  readonly #onDue: () => void
  readonly #cancels = new Map<() => void, readonly Received[]>()

  constructor(
    lanes: Lanes,
    timers: Timers,
    isLive: (received: Received) => boolean,
    readAgain: (received: Received) => void,
    onDue: () => void,
  ) {
    this.#lanes = lanes
    this.#readAgain = readAgain
    this.#timers = timers
    this.#isLive = isLive
    this.#onDue = onDue
  }

  get size(): number {
    return this.#cancels.size
  }

  /** Messages that are in no lane while they wait. */
  *waiting(): Iterable<Received> {
    for (const messages of this.#cancels.values()) yield* messages
  }

  hold(decided: readonly Decided[]): void {
    const groups = new Map<string | Received, { delayMs: number; messages: Received[] }>()
    for (const { received, decision } of decided) {
      if (decision.outcome !== 'retry') continue
      const lane = received.lane ?? received
      const group = groups.get(lane)
      if (group === undefined) groups.set(lane, { delayMs: decision.retryDelayMs, messages: [received] })
      else group.messages.push(received)
    }
    for (const { delayMs, messages } of groups.values()) this.#wait(delayMs, messages)
  }

  cancelAll(): void {
    for (const cancel of this.#cancels.keys()) cancel()
    this.#cancels.clear()
  }

  #wait(delayMs: number, messages: readonly Received[]): void {
    const [head] = messages
    const inLane = this.#lanes.hold(messages)
    const cancel = this.#timers.after(delayMs, () => {
      this.#cancels.delete(cancel)
      if (inLane) this.#lanes.resume(head!)
      else for (const received of messages) if (this.#isLive(received)) this.#bringBack(received)
      this.#onDue()
    })
    this.#cancels.set(cancel, inLane ? [] : messages)
  }

  #bringBack(received: Received): void {
    if (isUnvalidated(received)) this.#readAgain(received)
    else this.#lanes.pushBack(received)
  }
}
