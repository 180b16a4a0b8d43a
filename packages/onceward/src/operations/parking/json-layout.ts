/** A piece of a JSON text. `raw` and `shown` differ only where white space stands between two tokens. */
export interface LayoutPart {
  readonly raw: string
  readonly shown: string
}

/** Deeper texts are shown as they are: their indentation would be longer than they are. */
const depthMax = 100

/**
 * A JSON text with a line for each member. Tokens are kept as they are written: a number is not parsed, and a
 * member that occurs twice occurs twice. Null for text that is not JSON. Pages use it too, so it imports
 * nothing.
 */
export function layoutJson(text: string): readonly LayoutPart[] | null {
  if (!isJson(text)) return null
  const parts: LayoutPart[] = []
  let [depth, before] = [0, '']
  for (let at = 0; at < text.length; ) {
    const from = endOfSpace(text, at)
    const to = endOfToken(text, from)
    const token = text.slice(from, to)
    const closes = token === '}' || token === ']'
    if (closes) depth--
    if (depth > depthMax) return null
    parts.push({ raw: text.slice(at, from), shown: spaceBetween(before, token, depth) })
    parts.push({ raw: token, shown: token })
    if (token === '{' || token === '[') depth++
    before = token
    at = to
  }
  return parts.filter(({ raw, shown }) => raw !== '' || shown !== '')
}

/** The text with a line for each member, for people to read; other text than JSON is unchanged. */
export function indentJson(text: string): string {
  return (
    layoutJson(text)
      ?.map(({ shown }) => shown)
      .join('') ?? text
  )
}

function endOfSpace(text: string, from: number): number {
  let at = from
  while (' \t\n\r'.includes(text[at] ?? 'x')) at++
  return at
}

/** Of text that is JSON. Not by a pattern: one would keep a state for each escape of a long string. */
function endOfToken(text: string, from: number): number {
  let at = from + 1
  if (text[from] === '"') {
    while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
    return at + 1
  }
  if (!'{}[]:,'.includes(text[from] ?? ','))
    while (at < text.length && !' \t\n\r{}[]:,'.includes(text[at]!)) at++
  return Math.min(at, text.length)
}

function spaceBetween(before: string, token: string, depth: number): string {
  const line = `\n${'  '.repeat(depth)}`
  if (before === '{' || before === '[') return token === '}' || token === ']' ? '' : line
  if (before === ',' || token === '}' || token === ']') return line
  return before === ':' ? ' ' : ''
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
