import type { FailureRules } from '../../contract/failure-rules.ts'
import type { Clock, Timers } from '../../environment.ts'
import { isRegistryUnavailable } from '../../message/read-message.ts'
import type { Received } from '../../message/received.ts'
import type { BreakerEvent, BreakerView } from '../retry/breaker.ts'

/** The pauses of a consumer without a breaker. */
const defaultPauses = { pauseMs: 1_000, pauseMaxMs: 60_000 }

export const registryUnavailableCode = 'registry_unavailable'

/**
 * Holds messages whose schema cannot be read, because their registry is unavailable:
 *
 *   answering ──a read fails──▶ unavailable ──pause ends: one message is read again──▶ answering: all are
 *                               ▲                    └── it fails: twice the pause ──┐
 *                               └────────────────────────────────────────────────────┘
 *
 * Such a message is in no batch: it has no attempt, no row and no outcome. The breaker could not decide this:
 * it needs failed transactions of several messages, and one message is enough to know that a registry is
 * unavailable.
 */
export class RegistryWait {
  readonly #pauses: { readonly pauseMs: number; readonly pauseMaxMs: number }
  readonly #timers: Timers
  readonly #clock: Clock
  readonly #onEvent: (event: BreakerEvent) => void
  #waiting: (() => void)[] = []
  #probing = false
  #stopped = false
  #failures = 0
  #untilMs = 0
  #reason = ''
  #cancel: () => void = () => {}

  constructor(
    { breaker }: Pick<FailureRules, 'breaker'>,
    timers: Timers,
    clock: Clock,
    onEvent: (event: BreakerEvent) => void,
  ) {
    this.#pauses = breaker ?? defaultPauses
    this.#timers = timers
    this.#clock = clock
    this.#onEvent = onEvent
  }

  /** True while messages wait for the registry: the consumer receives nothing. */
  get unavailable(): boolean {
    return this.#failures > 0
  }

  get view(): BreakerView {
    const state = !this.unavailable ? 'closed' : this.#probing ? 'probing' : 'open'
    return { state, failures: this.#failures, code: registryUnavailableCode }
  }

  /** The latest error. */
  get reason(): string {
    return this.#reason
  }

  get waitMs(): number {
    return this.#untilMs - this.#clock.nowMs()
  }

  /** Reads the message again until its registry answers. Does not resolve after `stop`. */
  async readOut<M>(first: Received<M>, read: () => Received<M> | Promise<Received<M>>): Promise<Received<M>> {
    let received = first
    let isProbe = false
    while (isRegistryUnavailable(received)) {
      if (this.#stopped) return new Promise(() => {})
      this.#failed(isProbe, received)
      isProbe = await this.#turn()
      received = await read()
    }
    this.#answered()
    return received
  }

  stop(): void {
    this.#stopped = true
    this.#cancel()
    this.#waiting = []
  }

  /** Resolves with true for the one message that tries; the others wait until it succeeded. */
  async #turn(): Promise<boolean> {
    await new Promise<void>(resolve => this.#waiting.push(resolve))
    return this.#probing
  }

  #failed(wasProbe: boolean, received: Received): void {
    if (this.unavailable && !wasProbe) return
    this.#reason = received.readable ? '' : received.problem.text
    this.#probing = false
    const { pauseMs, pauseMaxMs } = this.#pauses
    const delayMs = Math.min(pauseMaxMs, pauseMs * 2 ** Math.min(this.#failures, 30))
    this.#failures++
    this.#untilMs = this.#clock.nowMs() + delayMs
    this.#cancel = this.#timers.after(delayMs, () => this.#probe())
    this.#onEvent(wasProbe ? 'still unavailable' : 'opened')
  }

  #probe(): void {
    this.#probing = true
    this.#waiting.shift()?.()
  }

  #answered(): void {
    if (!this.unavailable) return
    this.#cancel()
    this.#failures = 0
    this.#probing = false
    this.#onEvent('closed')
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}
