import { isRecord, oneOf, type Report, unknownKeys } from '../check-values.ts'
import type { SectionKind } from './kind.ts'
import type { Option } from './option.ts'
import { contractOptions, type OptionTable } from './table.ts'

/**
 * Reports problems of single values in a contract: unknown keys, wrong types, values out of range. Accepts
 * data of any shape.
 */
export function optionProblems(
  contract: Record<string, unknown>,
  wrong: Report,
  table: OptionTable = contractOptions,
): void {
  sectionProblems({ table, wrong }, '', contract, '')
}

/** The same for the value of one path, such as a target outside a contract. */
export function problemsAt(
  path: string,
  value: unknown,
  place: string,
  wrong: Report,
  table: OptionTable = contractOptions,
): void {
  givenProblems({ table, wrong }, table.at(path), value, place)
}

interface Reading {
  readonly table: OptionTable
  readonly wrong: Report
}

function sectionProblems(
  reading: Reading,
  section: string,
  value: Record<string, unknown>,
  prefix: string,
  { allowsOtherKeys, variants }: Pick<SectionKind, 'allowsOtherKeys' | 'variants'> = {},
): void {
  const { table, wrong } = reading
  const variant = table.variantOf(section, value)
  if (variants && !variants.of.includes(variant!))
    return oneOf(variant, variants.of, `${prefix}${variants.by}`, wrong)
  if (allowsOtherKeys !== true) unknownKeys(value, table.names(section, variant), prefix, wrong)
  for (const { name, option } of table.below(section, variant)) {
    if (name === variants?.by) continue
    const place = `${prefix}${name}`
    if (value[name] === undefined && typeof option.missing === 'string') wrong(place, option.missing)
    else if (option.missing === true || isGiven(value, name, option))
      givenProblems(reading, option, value[name], place)
  }
}

function isGiven(section: Record<string, unknown>, name: string, { kind }: Option): boolean {
  const undefinedToo = kind.holds === 'value' && kind.refusesUndefined === true
  return section[name] !== undefined || (undefinedToo && Object.hasOwn(section, name))
}

function givenProblems(reading: Reading, option: Option, value: unknown, place: string): void {
  const { table, wrong } = reading
  const { kind, path } = option
  switch (kind.holds) {
    case 'value':
      return kind.check(value, place, wrong)
    case 'section':
      return belowProblems(reading, path, kind, value, place)
    case 'record':
      if (!kind.check(value, place, wrong)) return
      for (const [name, one] of Object.entries(value ?? {})) {
        kind.checkName?.(name, `${place}.${name}`, wrong)
        givenProblems(reading, table.at(`${path}.*`), one, `${place}.${name}`)
      }
  }
}

function belowProblems(
  reading: Reading,
  path: string,
  kind: SectionKind,
  value: unknown,
  place: string,
): void {
  const { table, wrong } = reading
  if (kind.alsoAccepts?.(value)) return
  if (kind.shorthand !== undefined && typeof value === 'string')
    return givenProblems(reading, table.at(`${path}.${kind.shorthand}`), value, place)
  if (isRecord(value) && (kind.fits?.(value) ?? true))
    return sectionProblems(reading, path, value, `${place}.`, kind)
  wrong(place, typeof kind.must === 'string' ? kind.must : kind.must(table.names(path)))
}
