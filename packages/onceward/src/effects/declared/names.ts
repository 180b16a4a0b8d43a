import type { Report } from '../../contract/check-values.ts'

const plainName = /^[a-z_][a-z0-9_]{0,62}$/

/** Declared tables are plain names, with or without a schema. Quoted names never come from a message. */
export function checkTable(value: unknown, place: string, wrong: Report): void {
  const parts = typeof value === 'string' ? value.split('.') : []
  if (parts.length < 1 || parts.length > 2 || !parts.every(part => plainName.test(part)))
    wrong(place, 'must be the name of a table, such as cases or app.cases (lower case, digits, underscores)')
}

export function checkColumn(value: unknown, place: string, wrong: Report): void {
  if (typeof value !== 'string' || !plainName.test(value))
    wrong(place, 'must be the name of a column (lower case, digits, underscores)')
}

/** Quoted for SQL. Only for names that passed `checkTable` or `checkColumn`. */
export const quoted = (name: string) =>
  name
    .split('.')
    .map(part => `"${part}"`)
    .join('.')
