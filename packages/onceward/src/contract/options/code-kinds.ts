import { isRecord, oneOf, type Report } from '../check-values.ts'
import type { From } from '../contract.ts'
import type { Secret } from '../external-target.ts'
import { properties } from '../words.ts'
import type { ValueCheck } from './kind.ts'

export const fromText = "must be a function, { header: 'name' } or { property: 'messageId' }"

/**
 * Where an identity is read: a function, a header or a property. A policy file can name a header or a
 * property. Undefined is refused, because a misspelt import would silently switch the identity off.
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

export const fromOrPosition: ValueCheck<From<unknown> | 'position' | 'content'> = {
  holds: 'value',
  check: (value, place, wrong) =>
    value !== 'position' && value !== 'content' && from.check(value, place, wrong),
  inFile: { kind: 'from or position' },
  refusesUndefined: true,
}

/** An option that only code can set; the contract declares its type `T`. */
// biome-ignore lint/suspicious/noExplicitAny: the contract declares the function's type
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

/** A text that a policy file takes from the environment when the file is applied. */
export const address: ValueCheck<string> = { holds: 'value', check: () => {}, inFile: { kind: 'address' } }

/** Checked together with its name and its target in `target-problems.ts`. */
export const header: ValueCheck<string | Secret> = {
  holds: 'value',
  check: () => {},
  inFile: { kind: 'header' },
}

export function secretProblems(place: string, value: unknown, wrong: Report): void {
  if (isRecord(value) && typeof value.env === 'string' && /^[A-Za-z_][A-Za-z0-9_]*$/.test(value.env)) return
  wrong(place, "must be { env: 'NAME' }: secrets come from the environment")
}
