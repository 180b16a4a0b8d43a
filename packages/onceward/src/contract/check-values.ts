import { nearestName } from '../ports/nearest-name.ts'

/** Records one problem: its place and its text. */
export type Report = (place: string, text: string) => void

export function unknownKeys(value: object, names: readonly string[], prefix: string, wrong: Report): void {
  for (const key of Object.keys(value)) {
    if (names.includes(key)) continue
    const near = nearestName(key, names)
    wrong(`${prefix}${key}`, `is not a known key${near === null ? '' : `; did you mean '${near}'?`}`)
  }
}

export function oneOf(value: unknown, allowed: readonly string[], place: string, wrong: Report): void {
  if (typeof value === 'string' && allowed.includes(value)) return
  wrong(place, `must be one of ${allowed.map(a => `'${a}'`).join(', ')}`)
}

export function wholeNumber(value: unknown, place: string, min: number, max: number, wrong: Report): void {
  if (value === undefined) return
  if (!Number.isInteger(value) || (value as number) < min || (value as number) > max) {
    wrong(place, `must be a whole number from ${min} to ${max}`)
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}
