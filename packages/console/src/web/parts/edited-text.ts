import { type LayoutPart, layoutJson } from '../../../../onceward/src/operations/parking/json-layout.ts'

/** A text that a person edits in a readable layout. What they do not touch stays as it was, to the byte. */
export type EditedText = readonly LayoutPart[]

/** Text that is not JSON is shown as it is; a text area has its own ends of lines. */
export function beginEdit(text: string): EditedText {
  return layoutJson(text) ?? text.split(/(\r\n?)/).map(raw => ({ raw, shown: raw.replace(/\r\n?/, '\n') }))
}

export const shownText = (of: EditedText) => of.map(({ shown }) => shown).join('')
export const savedText = (of: EditedText) => of.map(({ raw }) => raw).join('')

/** The text after one change: what is between the common start and the common end was typed. */
export function edit(of: EditedText, shown: string): EditedText {
  const former = shownText(of)
  if (former === shown) return of
  const shorter = Math.min(former.length, shown.length)
  let start = 0
  while (start < shorter && former[start] === shown[start]) start++
  let rest = 0
  while (rest < shorter - start && former.at(-1 - rest) === shown.at(-1 - rest)) rest++
  const end = former.length - rest
  const typed = shown.slice(start, shown.length - rest)
  const [before, after] = [[] as LayoutPart[], [] as LayoutPart[]]
  let at = 0
  for (const part of of) {
    const to = at + part.shown.length
    if (at < start || to <= start) before.push(cut(part, 0, start - at))
    if (to > end || (at >= end && at > start)) after.push(cut(part, end - at, part.shown.length))
    at = to
  }
  return [...before, { raw: typed, shown: typed }, ...after]
}

/** White space that is cut is typed. */
function cut(part: LayoutPart, from: number, to: number): LayoutPart {
  if (from <= 0 && to >= part.shown.length) return part
  const shown = part.shown.slice(Math.max(0, from), Math.max(0, to))
  return { raw: shown, shown }
}
