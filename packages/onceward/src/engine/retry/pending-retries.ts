import type { Timers } from '../../environment.ts'
import type { Received } from '../../message/received.ts'
import { isUnvalidated } from '../../message/unreadable-message.ts'
import type { Decided } from '../batch/batch-attempt.ts'
import { brakedCode } from '../batch/outcome.ts'
import type { Lanes } from '../consumer/lanes.ts'

/** The first message of a lane and those behind it. */
interface Group {
  readonly delayMs: number
  readonly messages: Received[]
  readonly braked: boolean
}

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
  /** Ends the waits of messages whose event type is paused. */
  readonly #braked = new Set<() => void>()

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
    const groups = new Map<string | Received, Group>()
    for (const { received, decision } of decided) {
      if (decision.outcome !== 'retry') continue
      const lane = received.lane ?? received
      const group = groups.get(lane)
      if (group !== undefined) group.messages.push(received)
      else {
        const braked = decision.braked || decision.code === brakedCode
        groups.set(lane, { delayMs: decision.retryDelayMs, messages: [received], braked })
      }
    }
    for (const group of groups.values()) this.#wait(group)
  }

  /** Called when a paused event type may continue: its messages are due now. */
  resumeBraked(): void {
    for (const resume of [...this.#braked]) resume()
  }

  cancelAll(): void {
    for (const cancel of this.#cancels.keys()) cancel()
    this.#cancels.clear()
    this.#braked.clear()
  }

  #wait({ delayMs, messages, braked }: Group): void {
    const [head] = messages
    const inLane = this.#lanes.hold(messages)
    const end = () => {
      this.#cancels.delete(cancel)
      this.#braked.delete(resume)
      if (inLane) this.#lanes.resume(head!)
      else for (const received of messages) if (this.#isLive(received)) this.#bringBack(received)
      this.#onDue()
    }
    const cancel = this.#timers.after(delayMs, end)
    const resume = () => {
      cancel()
      end()
    }
    this.#cancels.set(cancel, inLane ? [] : messages)
    if (braked) this.#braked.add(resume)
  }

  #bringBack(received: Received): void {
    if (isUnvalidated(received)) this.#readAgain(received)
    else this.#lanes.pushBack(received)
  }
}
