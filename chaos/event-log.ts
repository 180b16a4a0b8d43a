import { appendFileSync } from 'node:fs'

export interface ChaosEvent {
  readonly at: string
  readonly what: string
  readonly [fact: string]: unknown
}

/** Everything that a run did and noticed, in order, one JSON line each. */
export class EventLog {
  readonly #file: string
  readonly #see: (event: ChaosEvent) => void
  readonly events: ChaosEvent[] = []

  constructor(file: string, see: (event: ChaosEvent) => void = () => {}) {
    this.#file = file
    this.#see = see
  }

  add(what: string, facts: Readonly<Record<string, unknown>> = {}): void {
    const event = { at: new Date().toISOString(), what, ...facts }
    this.events.push(event)
    appendFileSync(this.#file, `${JSON.stringify(event)}\n`)
    this.#see(event)
  }
}
