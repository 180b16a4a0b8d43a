import { type DiffLine, diffLines } from './diff-lines.ts'
import { indentJson } from './json-layout.ts'

/**
 * Null when the bodies are not text or too long to compare. JSON is compared by lines of one member each; if
 * only white space between members differs, the texts are compared as they are.
 */
export function diffBodies(before: Buffer, after: Buffer): readonly DiffLine[] | null {
  const [was, is] = [textOf(before), textOf(after)]
  if (was === null || is === null) return null
  const [shownWas, shownIs] = [indentJson(was), indentJson(is)]
  return shownWas === shownIs ? diffLines(was, is) : diffLines(shownWas, shownIs)
}

function textOf(bytes: Buffer): string | null {
  const text = bytes.toString('utf8')
  return Buffer.from(text).equals(bytes) ? text : null
}
