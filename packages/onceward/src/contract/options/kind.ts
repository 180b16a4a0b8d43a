import type { Report } from '../check-values.ts'
import type { ValueKind } from './value-kind.ts'

/** What an option holds. */
export type OptionKind = ValueCheck | SectionKind | RecordKind

/** A value. The compiler proves that its type in the contract is `T`. */
export interface ValueCheck<T = unknown> {
  readonly holds: 'value'
  /** Reports what is wrong with a given value. */
  readonly check: (value: unknown, place: string, wrong: Report) => void
  /** How a policy file writes it; null if a policy file cannot set it. */
  readonly inFile: ValueKind | null
  /** The value a started consumer gets instead: milliseconds for a duration. */
  readonly resolve?: (value: unknown) => unknown
  /** True: a key given as undefined is refused. Otherwise it counts as not given. */
  readonly refusesUndefined?: true
  /** True: null is a value. Otherwise it counts as not given. */
  readonly takesNull?: true
  readonly type?: T
}

/** An object with options of its own; their paths begin with its path. */
export interface SectionKind {
  readonly holds: 'section'
  /** The problem reported for any other value; a function receives the names of the options below. */
  readonly must: string | ((names: readonly string[]) => string)
  readonly inFile: ValueKind | null
  readonly fits?: (value: Record<string, unknown>) => boolean
  /** Values accepted in its place. */
  readonly alsoAccepts?: (value: unknown) => boolean
  /** The option below it that a plain text sets. */
  readonly shorthand?: string
  /** True: it may have keys that are not options. */
  readonly allowsOtherKeys?: boolean
  /** The option below it that selects which of the others apply. */
  readonly variants?: { readonly by: string; readonly of: readonly string[]; readonly fallback: string }
}

/** An object with user-chosen names; the option at `path.*` describes the value of each. */
export interface RecordKind {
  readonly holds: 'record'
  readonly check: (value: unknown, place: string, wrong: Report) => boolean
  readonly checkName?: (name: string, place: string, wrong: Report) => void
  readonly inFile: null
}

type OptionsMore = Omit<SectionKind, 'holds' | 'must' | 'inFile'> & { readonly orFalse?: true }

export function section(
  must: SectionKind['must'] = 'must be an object',
  more: OptionsMore = {},
): SectionKind {
  const { orFalse, ...rest } = more
  const off = orFalse && {
    alsoAccepts: (value: unknown) => value === false,
    inFile: { kind: 'off' as const },
  }
  return { holds: 'section', must, inFile: null, ...rest, ...off }
}

/** `fits` null: the object itself is not checked. */
export function record(
  must: string,
  fits: ((value: unknown) => boolean) | null,
  checkName?: RecordKind['checkName'],
): RecordKind {
  const check: RecordKind['check'] = (value, place, wrong) => {
    if (fits === null || fits(value)) return true
    wrong(place, must)
    return false
  }
  return { holds: 'record', check, inFile: null, ...(checkName && { checkName }) }
}

/** Not checked by the table: a rule elsewhere checks the value, or any value is accepted. */
export function unchecked<T>(kind: ValueCheck<T>): ValueCheck<T> {
  return { ...kind, check: () => {} }
}
