/** The trace of one schedule: always a hash, which two runs of one seed must share; lines only on request. */
export class Trace {
  readonly on: boolean
  readonly lines: string[] = []
  #hash = 0x811c9dc5

  constructor(on: boolean) {
    this.on = on
  }

  mix(number: number): void {
    this.#hash = Math.imul(this.#hash ^ number, 0x01000193)
  }

  /** Callers ask `on` first: building a line costs more than the step it describes. */
  note(line: string): void {
    this.lines.push(line)
  }

  get hash(): string {
    return (this.#hash >>> 0).toString(16).padStart(8, '0')
  }
}
