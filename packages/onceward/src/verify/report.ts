import type { VolatileColumn } from './clean-run.ts'
import type { Difference } from './compare-snapshots.ts'
import type { Diagnosis } from './diagnose.ts'
import type { FaultClass } from './fault.ts'

/** Something that the consumer did not survive. */
export interface VerifyFailure extends Diagnosis {
  /**
   * The class of the fault; `leak`, `identity` and `key` for what was found by watching clean runs; `not
   * staged` for planned faults about which nothing is known.
   */
  readonly class: FaultClass | 'leak' | 'identity' | 'key' | 'clean run' | 'invariant' | 'not staged'
  /** The fault as `--fault` takes it; null where no fault is needed. */
  readonly fault: string | null
  /** Lines of the samples that are needed. */
  readonly lines: readonly number[]
  readonly seed: number
  readonly differences: readonly Difference[]
  /** The command that repeats it. */
  readonly repeat: string
  /** Other faults with the same diagnosis. */
  readonly alike: number
}

export interface ClassResult {
  readonly class: FaultClass | 'leak'
  readonly title: string
  readonly survived: number
  readonly of: number
  /** Why the class did not run, or that the budget ended before all of it ran. */
  readonly note: string
}

/** The verdict in words: a consumer is not accused of what was not staged. */
export function verdictOf({ ok, failures }: Pick<VerifyReport, 'ok' | 'failures'>): string {
  if (ok) return 'survived'
  return failures.every(one => one.class === 'not staged') ? 'is not proven' : 'did not survive'
}

/** What `verifyConsumer` ran and found. */
export interface VerifyReport {
  readonly ok: boolean
  readonly consumer: string
  readonly survived: number
  readonly of: number
  readonly classes: readonly ClassResult[]
  readonly failures: readonly VerifyFailure[]
  /** Worth changing, but not counted as failures. */
  readonly warnings: readonly Diagnosis[]
  /** Columns that were not compared, because their values differ between two clean runs. */
  readonly volatile: readonly VolatileColumn[]
  /** Facts worth knowing: unreadable samples, messages that the clean run set aside. */
  readonly notes: readonly string[]
  readonly messages: number
  readonly seed: number
  readonly seconds: number
}
