import type { ParkedRow, Story } from 'onceward/operations'
import { withoutKeys } from './hide-keys.ts'
import type { PayloadRight } from './rights.ts'

/**
 * Texts of errors often quote values of the payload: "Key (iban)=(DE…) already exists". A reason that the
 * handler wrote with its verdict is meant to be read.
 */
const isOwnWords = ({ failureClass }: Pick<ParkedRow, 'failureClass'>) =>
  ['verdict', 'retry', 'order'].includes(failureClass)

/** A row of a list or of an export, as this person may see it. `keys`: whether its keys may be seen. */
export function shownRow<Row extends Pick<ParkedRow, 'failureClass' | 'reason' | 'key' | 'businessKey'>>(
  row: Row,
  right: PayloadRight,
  keys: boolean,
): Row {
  const shown = right === 'full' || isOwnWords(row) ? row : { ...row, reason: '' }
  return keys ? shown : withoutKeys(shown)
}

/** The texts of errors of one message. */
export function errorTexts(
  row: ParkedRow & { readonly error: string | null },
  story: Story | null,
): readonly string[] {
  const timeline = story?.timeline ?? []
  const attempts = timeline.flatMap(({ text, facts: { failureClass, code } }) =>
    typeof failureClass === 'string' ? [text.slice(`${failureClass}: ${code}: `.length)] : [],
  )
  const calls = timeline.flatMap(({ what, text }) =>
    what === 'external call' ? [/ after \d+ calls?: (.*)$/s.exec(text)?.[1] ?? ''] : [],
  )
  const texts = [row.error ?? '', isOwnWords(row) ? '' : row.reason, ...attempts, ...calls]
  return [...new Set(texts.flatMap(text => [text, ...text.split('\n')]))]
    .filter(text => text.trim().length > 3)
    .toSorted((a, b) => b.length - a.length)
}

/** The same value without these texts, wherever they are quoted in it. */
export function without<T>(value: T, hidden: readonly string[]): T {
  if (typeof value === 'string')
    return hidden.reduce<string>((rest, text) => rest.replaceAll(text, '•••'), value) as T
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  if (Array.isArray(value)) return value.map(one => without(one, hidden)) as T
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, without(one, hidden)])) as T
}
