import { exactJson } from '../../message/exact-json.ts'
import { arrayLiteral } from '../declared/array-literal.ts'
import type { Column } from './describe-table.ts'

/** The values of one column for a whole batch, as a parameter for `unnest`. */
export function columnArray({ sent }: Column, values: readonly unknown[]): unknown {
  switch (sent) {
    case 'as json':
      return values.map(value => (value == null ? null : exactJson(value)))
    case 'as array literal':
      return values.map(value => (Array.isArray(value) ? arrayLiteral(value) : value))
    case 'as is':
      return values.every(isBare)
        ? bareLiteral(values)
        : values.map(value => (value instanceof Date ? value.toISOString() : value))
  }
}

/** Numbers and booleans need no quotes. One text for all of them saves the client a call per value. */
export function bareLiteral(values: readonly unknown[]): string {
  return `{${values.map(value => (value == null ? 'null' : String(value))).join(',')}}`
}

function isBare(value: unknown): boolean {
  return value == null || typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint'
}
