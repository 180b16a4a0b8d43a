import { type Profiler, Session } from 'node:inspector'

/** The functions that ran since the last reading, with the counts of their blocks. */
export type Reading = readonly Profiler.FunctionCoverage[]

/**
 * Which code of the library ran at all, by the block coverage of V8. It needs no instrumentation and works on
 * sources whose types are stripped. Rejected: Jazzer.js 4.0, whose binary needs glibc 2.38.
 */
export class Coverage {
  readonly #session = new Session()
  readonly #seen = new Map<string, Uint8Array>()
  #blocks = 0

  constructor() {
    this.#session.connect()
    this.#session.post('Profiler.enable')
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  }

  /** Characters of source that were reached. */
  get reached(): number {
    return this.#blocks
  }

  /** Reading costs milliseconds: read once for many inputs. */
  read(): readonly (readonly [script: string, functions: Reading])[] {
    let scripts: readonly Profiler.ScriptCoverage[] = []
    this.#session.post('Profiler.takePreciseCoverage', (_error, { result }) => {
      scripts = result
    })
    return scripts
      .filter(
        ({ url }) =>
          url.startsWith('file:') && /\/packages\/[a-z]+\/src\/|\/fuzz\/targets\/broken\.ts$/.test(url),
      )
      .map(({ url, functions }) => [url, functions] as const)
  }

  /** True if the reading has code that no earlier one had. */
  hasNew(reading: ReturnType<Coverage['read']>): boolean {
    return this.#merge(reading, false) > 0
  }

  add(reading: ReturnType<Coverage['read']>): void {
    this.#blocks += this.#merge(reading, true)
  }

  #merge(reading: ReturnType<Coverage['read']>, keep: boolean): number {
    let found = 0
    for (const [script, functions] of reading)
      for (const { ranges } of functions) {
        const { startOffset, endOffset, count } = ranges[0]!
        if (count === 0) continue
        const ran = new Uint8Array(endOffset - startOffset)
        for (const range of ranges)
          ran.fill(range.count > 0 ? 1 : 0, range.startOffset - startOffset, range.endOffset - startOffset)
        const name = `${script}:${startOffset}:${endOffset}`
        const known = this.#seen.get(name) ?? new Uint8Array(ran.length)
        for (let at = 0; at < ran.length; at++) if (ran[at] === 1 && known[at] === 0) found++
        if (!keep) continue
        for (let at = 0; at < ran.length; at++) known[at]! |= ran[at]!
        this.#seen.set(name, known)
      }
    return found
  }

  close(): void {
    this.#session.disconnect()
  }
}
