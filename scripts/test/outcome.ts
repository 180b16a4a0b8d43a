import type { EventData } from 'node:test'

type Test = { name: string; file: string; line: number; durationMs: number }
export type Failure = Test & { error: unknown }
export type Skip = Test & { reason: string }

/** What a run adds up to. Suites and whole files are containers and are not counted as tests. */
export class Outcome {
  readonly passed: Test[] = []
  readonly failed: Failure[] = []
  readonly skipped: Skip[] = []
  /** What tests measured, by file. */
  readonly notes = new Map<string, string[]>()
  readonly files = new Map<string, { tests: number; failed: number; durationMs: number }>()
  #ancestors = new Map<string, string[]>()

  /** By the file that was run: several may define their tests in one that they share. */
  started(event: EventData.TestStart, fileName: string): void {
    const path = this.#pathOf(fileName)
    path.length = event.nesting
    path[event.nesting] = event.name
  }

  finished(event: EventData.TestPass | EventData.TestFail, fileName: string): void {
    const test = this.#describe(event, fileName)
    const file = this.#fileOf(fileName)
    const isContainer = event.details.type === 'suite'
    if (event.skip !== undefined && event.skip !== false) {
      const reason = typeof event.skip === 'string' && event.skip ? event.skip : 'no reason given'
      this.skipped.push({ ...test, reason })
      return
    }
    if (event.todo !== undefined && event.todo !== false) {
      this.skipped.push({ ...test, reason: `todo: ${event.todo}` })
      return
    }
    const error = 'error' in event.details ? event.details.error : undefined
    if (error !== undefined) {
      // A suite fails because a test in it did: that one is reported already.
      if (isContainer && (error as { failureType?: string }).failureType === 'subtestsFailed') return
      file.failed++
      this.failed.push({ ...test, error })
    } else if (!isContainer) this.passed.push(test)
    if (!isContainer) file.tests++
  }

  noted(message: string, fileName: string): void {
    this.notes.set(fileName, [...(this.notes.get(fileName) ?? []), message])
  }

  fileFinished(fileName: string, durationMs: number): void {
    this.#fileOf(fileName).durationMs = durationMs
  }

  fileFailed(fileName: string, error: unknown): void {
    this.#fileOf(fileName).failed++
    this.failed.push({ name: '(the file itself)', file: fileName, line: 0, durationMs: 0, error })
  }

  #pathOf(file: string): string[] {
    const path = this.#ancestors.get(file) ?? []
    this.#ancestors.set(file, path)
    return path
  }

  #fileOf(name: string) {
    const file = this.files.get(name) ?? { tests: 0, failed: 0, durationMs: 0 }
    this.files.set(name, file)
    return file
  }

  #describe(event: EventData.TestPass | EventData.TestFail, file: string): Test {
    const above = this.#pathOf(file).slice(0, event.nesting)
    const name = [...above, event.name].join(' › ')
    return { name, file, line: event.line ?? 0, durationMs: event.details.duration_ms }
  }
}
