import type { Report } from '../check-values.ts'
import type { ValueKind } from './value-kind.ts'

/** What may stand where an option stands. */
export type OptionKind = ValueCheck | SectionKind | RecordKind

/** A value. `T` is the type it is proven to have in the hand-written contract. */
export interface ValueCheck<T = unknown> {
  readonly holds: 'value'
  /** Reports what is wrong with a value that is given. */
  readonly check: (value: unknown, place: string, wrong: Report) => void
  /** How a policy file writes it; null where a file cannot say it. */
  readonly inFile: ValueKind | null
  /** What a started consumer is told instead of it: milliseconds of a duration. */
  readonly resolve?: (value: unknown) => unknown
  /** True: a key that is given as undefined is refused, where otherwise it is a key not given. */
  readonly refusesUndefined?: true
  /** True: null is a value. Elsewhere it is as good as nothing. */
  readonly takesNull?: true
  readonly type?: T
}

/** An object with options of its own: their paths begin with its path. */
export interface SectionKind {
  readonly holds: 'section'
  /** What is said of anything else; given the names of the options below. */
  readonly must: string | ((names: readonly string[]) => string)
  readonly inFile: ValueKind | null
  readonly fits?: (value: Record<string, unknown>) => boolean
  /** Values that may stand in its place. */
  readonly alsoAccepts?: (value: unknown) => boolean
  /** The option below it that a plain text stands for. */
  readonly shorthand?: string
  /** True: it has keys that are no options. */
  readonly allowsOtherKeys?: boolean
  /** The option below it that decides which of the others it has. */
  readonly variants?: { readonly by: string; readonly of: readonly string[]; readonly fallback: string }
}

/** An object with names people choose: the option at `path.*` says what stands below each. */
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

/** `fits` null: nothing is asked of the object itself. */
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

/** Not looked at by the table: a rule beside it judges the value, or it is taken as it is. */
export function unchecked<T>(kind: ValueCheck<T>): ValueCheck<T> {
  return { ...kind, check: () => {} }
}
