import { isRecord, oneOf, type Report } from '../check-values.ts'
import type { From } from '../contract.ts'
import type { Secret } from '../external-target.ts'
import { properties } from '../words.ts'
import type { ValueCheck } from './kind.ts'

export const fromText = "must be a function, { header: 'name' } or { property: 'messageId' }"

/**
 * Where an identity is read: by a function, or at a header or property. A policy file can name the latter
 * two. Undefined is refused: a name that was not imported would switch off what the identity is for.
 */
export const from: ValueCheck<From<unknown>> = {
  holds: 'value',
  check: (value, place, wrong) => {
    if (typeof value === 'function') return
    const named = isRecord(value) && (typeof value.header === 'string' || typeof value.property === 'string')
    if (!named) return wrong(place, fromText)
    if (typeof value.property === 'string') oneOf(value.property, properties, place, wrong)
  },
  inFile: { kind: 'from' },
  refusesUndefined: true,
}

export const fromOrPosition: ValueCheck<From<unknown> | 'position'> = {
  holds: 'value',
  check: (value, place, wrong) => value !== 'position' && from.check(value, place, wrong),
  inFile: { kind: 'from or position' },
  refusesUndefined: true,
}

/** What only code can give: `T` is whatever the contract says. */
// biome-ignore lint/suspicious/noExplicitAny: a function's type is the contract's to say
export function codeOnly(must: string, fits: (value: unknown) => boolean = isFunction): ValueCheck<any> {
  const check = (value: unknown, place: string, wrong: Report) => {
    if (!fits(value)) wrong(place, must)
  }
  return { holds: 'value', check, inFile: null }
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}

/** The name of an environment variable. */
export const secret: ValueCheck<Secret> = {
  holds: 'value',
  check: (value, place, wrong) => secretProblems(place, value, wrong),
  inFile: { kind: 'secret' },
}

/** A text that a policy file keeps in the environment, put in its place when the file is applied. */
export const address: ValueCheck<string> = { holds: 'value', check: () => {}, inFile: { kind: 'address' } }

/** Judged with its name and its target: see `target-problems.ts`. */
export const header: ValueCheck<string | Secret> = {
  holds: 'value',
  check: () => {},
  inFile: { kind: 'header' },
}

export function secretProblems(place: string, value: unknown, wrong: Report): void {
  if (isRecord(value) && typeof value.env === 'string' && /^[A-Za-z_][A-Za-z0-9_]*$/.test(value.env)) return
  wrong(place, "must be { env: 'NAME' }: secrets come from the environment")
}
