import type { Environment } from '../../environment.ts'
import { errorText } from '../../errors.ts'
import type { BrakeLedger } from '../../ports/brakes.ts'
import type { Enrolment } from '../../ports/store.ts'
import type { BrakeEvent, Brakes } from '../retry/brakes.ts'

/** How often a process with a paused type asks whether an operator or another process ended the pause. */
const askMs = 2_000

/** Reports paused event types, records them in the store, and learns of pauses that ended elsewhere. */
export class BrakeWatch {
  readonly #brakes: Brakes
  readonly #ledger: BrakeLedger | null
  readonly #enrolment: Enrolment
  readonly #env: Environment
  /** Types whose pause is on record: without a record, its absence says nothing. */
  readonly #recorded = new Set<string>()
  #last: Promise<unknown> = Promise.resolve()
  #cancel: (() => void) | null = null
  #stopped = false

  /** `ledger`: null for stores without one, and for campaigns, whose pauses concern them alone. */
  constructor(brakes: Brakes, ledger: BrakeLedger | null, enrolment: Enrolment, env: Environment) {
    this.#brakes = brakes
    this.#ledger = ledger
    this.#enrolment = enrolment
    this.#env = env
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

  learned(events: readonly BrakeEvent[]): void {
    for (const event of events) {
      this.#report(event)
      this.#record(event)
    }
    this.#askLater()
  }

  stop(): void {
    this.#stopped = true
    this.#cancel?.()
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
          return await ledger.end(this.#enrolment, type)
        }
        await ledger.engage(this.#enrolment, { type, cause, messages })
        this.#recorded.add(type)
      } catch (error) {
        const { name: consumer } = this.#enrolment.facts
        this.#env.log.warn('pause of an event type not recorded', { consumer, type, error: errorText(error) })
      }
    })
  }

  #askLater(): void {
    if (this.#ledger === null || this.#stopped || this.#cancel !== null) return
    if (this.#brakes.engaged.length === 0) return
    this.#cancel = this.#env.timers.after(askMs, () => {
      this.#cancel = null
      void this.#ask()
        .catch(() => {}) // the store is unavailable: it is asked again
        .then(() => this.#askLater())
    })
  }

  async #ask(): Promise<void> {
    await this.#last
    const recorded = [...this.#recorded]
    const { open } = await this.#ledger!.read(this.#enrolment)
    for (const type of recorded) {
      if (open.some(one => one.type === type)) continue
      this.#recorded.delete(type)
      const event = this.#brakes.release(type)
      if (event !== null) this.#report(event)
    }
  }
}
