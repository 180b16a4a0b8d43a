import { isRecord } from '../check-values.ts'
import { computedDefault, type ReadOption } from './option.ts'
import type { PathIn, SectionPath, SectionTypes } from './section-types.ts'
import { contractOptions, type ListedOption, type OptionTable, placeOf } from './table.ts'

/** The options of a section that have a default. */
export type DefaultedIn<S extends SectionPath> = {
  [K in keyof SectionTypes[S] & string]: Extract<
    ListedOption,
    { readonly path: PathIn<S, K>; readonly default: unknown }
  > extends never
    ? never
    : K
}[keyof SectionTypes[S] & string]

/** A section in which every option that has a default has a value. */
export type WithDefaults<S extends SectionPath> = Omit<SectionTypes[S], DefaultedIn<S>> & {
  [K in DefaultedIn<S>]-?: Exclude<SectionTypes[S][K], undefined>
}

/**
 * A section with its defaults. Defaults that depend on other options read them from `contract`. A key given
 * as undefined counts as not given.
 */
export function withDefaults<S extends SectionPath>(
  section: S,
  given: SectionTypes[S] | undefined,
  contract: object = {},
  table: OptionTable = contractOptions,
): WithDefaults<S> {
  const get = readerIn(contract, table, { section, value: given }) as (path: string) => unknown
  const defaulted = table
    .below(section, table.variantOf(section, given))
    .filter(({ option }) => option.default !== undefined)
  const values = Object.fromEntries(defaulted.map(({ name, option }) => [name, get(option.path)]))
  for (const [name, value] of Object.entries(given ?? {}))
    if (value !== undefined && !Object.hasOwn(values, name)) values[name] = value
  return values as WithDefaults<S>
}

/**
 * Reads the options of a contract: its own values, else the defaults. Durations stay as the contract has
 * them.
 */
export function optionReader(contract: object, table: OptionTable = contractOptions): ReadOption {
  return readerIn(contract, table, null)
}

/** A section below a user-chosen name is passed separately, because its path contains `*`. */
type OwnSection = { readonly section: string; readonly value: object | undefined } | null

function readerIn(contract: object, table: OptionTable, own: OwnSection): ReadOption {
  const get = (path: string): unknown => {
    const { section, name } = placeOf(path)
    const holder = section === own?.section ? own.value : valueAt(contract, section)
    const given = (holder as Record<string, unknown> | undefined)?.[name]
    const option = table.at(path)
    const { kind, default: fallback } = option
    const isGiven = given !== null || (kind.holds === 'value' && kind.takesNull === true)
    if (given !== undefined && isGiven) return given
    const computed = computedDefault(option)
    return computed === null ? fallback : computed.compute(get as ReadOption)
  }
  return get as ReadOption
}

function valueAt(root: object, path: string): unknown {
  let value: unknown = root
  for (const part of path === '' ? [] : path.split('.')) value = isRecord(value) ? value[part] : undefined
  return value
}

/** One option as a started consumer sees it: durations in milliseconds, null for an unset option. */
export interface Resolved {
  readonly name: string
  readonly value: unknown
  readonly isDuration: boolean
}

export function resolved(
  section: SectionPath,
  values: object,
  table: OptionTable = contractOptions,
): Resolved[] {
  return table.below(section).map(({ name, option: { kind } }) => {
    const value = (values as Record<string, unknown>)[name]
    const resolve = kind.holds === 'value' ? kind.resolve : undefined
    if (resolve === undefined || value === undefined)
      return { name, value: value ?? null, isDuration: resolve !== undefined }
    return { name, value: resolve(value), isDuration: true }
  })
}
