import type { Environment } from '../../environment.ts'
import { errorText } from '../../errors.ts'
import type { BrakeLedger } from '../../ports/brakes.ts'
import type { Enrolment } from '../../ports/enrolment.ts'
import type { BrakeEvent, Brakes } from '../retry/brakes.ts'

/**
 * How often a process asks for pauses that other processes or operators began or ended. `alertMs`: while a
 * type is paused here, or a message of it ended by a failure recently. A process whose messages are applied
 * asks too: the pause of a process that is gone ends only by a probe of another one.
 */
const alertMs = 2_000
const quietMs = 10_000

/** Reports paused event types, records them in the store, and learns of pauses that ended elsewhere. */
export class BrakeWatch {
  readonly #brakes: Brakes
  readonly #ledger: BrakeLedger | null
  readonly #enrolment: Enrolment
  readonly #env: Environment
  readonly #onReleased: () => void
  /** Types whose pause is on record: without a record, its absence says nothing. */
  readonly #recorded = new Set<string>()
  #last: Promise<unknown> = Promise.resolve()
  #events = 0
  #question: { readonly cancel: () => void; readonly afterMs: number } | null = null
  #stopped = false

  /**
   * `ledger`: null for stores without one, and for campaigns, whose pauses concern them alone. `onReleased`
   * is called when messages that wait in this process may be tried.
   */
  constructor(
    brakes: Brakes,
    ledger: BrakeLedger | null,
    enrolment: Enrolment,
    env: Environment,
    onReleased: () => void,
  ) {
    this.#brakes = brakes
    this.#ledger = ledger
    this.#enrolment = enrolment
    this.#env = env
    this.#onReleased = onReleased
  }

  /** Called before the first delivery: types that earlier processes paused are probed first. */
  async begin(): Promise<void> {
    if (this.#ledger === null) return
    const { open, released } = await this.#ledger.read(this.#enrolment)
    for (const { type, cause } of released) this.#brakes.know(type, cause)
    for (const { type, cause } of open) {
      this.#recorded.add(type)
      this.#brakes.resume(type, cause)
    }
    this.#askLater()
  }

  /** Called after every commit. */
  learned(events: readonly BrakeEvent[]): void {
    for (const event of events) {
      this.#events++
      this.#report(event)
      this.#record(event)
    }
    if (events.some(({ event }) => event === 'released')) this.#onReleased()
    this.#askLater()
  }

  stop(): void {
    this.#stopped = true
    this.#question?.cancel()
  }

  #report({ event, type, cause, messages }: BrakeEvent): void {
    const { log, metrics } = this.#env
    const { name: consumer, handlerVersion: version } = this.#enrolment.facts
    if (event === 'released') return log.info('event type resumed', { consumer, type, cause })
    metrics.add('brakes', 1, { consumer })
    log.error('event type paused: most of its messages fail for one cause, none is set aside', {
      consumer,
      type,
      cause,
      version,
      messages,
    })
  }

  #record({ event, type, cause, messages }: BrakeEvent): void {
    const ledger = this.#ledger
    if (ledger === null) return
    this.#last = this.#last.then(async () => {
      try {
        if (event === 'released') {
          this.#recorded.delete(type)
          this.#env.reach('brake.ending')
          return await ledger.end(this.#enrolment, type)
        }
        this.#env.reach('brake.engaging')
        await ledger.engage(this.#enrolment, { type, cause, messages })
        this.#recorded.add(type)
      } catch (error) {
        const { name: consumer } = this.#enrolment.facts
        this.#env.log.warn('pause of an event type not recorded', { consumer, type, error: errorText(error) })
      }
    })
  }

  #askLater(): void {
    const afterMs = this.#brakes.isAlert ? alertMs : quietMs
    if (this.#ledger === null || this.#stopped) return
    if (this.#question !== null && this.#question.afterMs <= afterMs) return
    this.#question?.cancel()
    const cancel = this.#env.timers.after(afterMs, () => {
      this.#question = null
      void this.#ask()
        .catch(() => {}) // the store is unavailable: it is asked again
        .then(() => this.#askLater())
    })
    this.#question = { cancel, afterMs }
  }

  async #ask(): Promise<void> {
    await this.#last
    const before = this.#events
    const { open, released } = await this.#ledger!.read(this.#enrolment)
    // A pause that began or ended here meanwhile is newer than this answer.
    if (this.#events !== before) return
    for (const { type, cause } of released) this.#brakes.know(type, cause)
    for (const { type, cause } of open) {
      this.#recorded.add(type)
      this.#brakes.resume(type, cause)
    }
    for (const type of [...this.#recorded].filter(type => !open.some(one => one.type === type))) {
      this.#recorded.delete(type)
      const byOperator = released.some(one => one.type === type)
      const event = this.#brakes.release(type, byOperator ? 'operator' : 'other process')
      if (event === null) continue
      this.#report(event)
      this.#onReleased()
    }
  }
}
