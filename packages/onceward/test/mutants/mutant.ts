/**
 * One small mistake in the shipped code, and the test that finds it. `file` is relative to the library's
 * `src`, `test` to its `test`. The text occurs exactly once in the file.
 */
export interface Mutant {
  readonly name: string
  readonly file: string
  readonly text: string
  readonly replacement: string
  /** What would go wrong in production. */
  readonly breaks: string
  readonly test: string
  /** The title of the test that fails. */
  readonly title: string
}
