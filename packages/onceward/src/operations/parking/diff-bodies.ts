import { type DiffLine, diffLines } from './diff-lines.ts'

/** Null when the bodies are not text or too long to compare. */
export function diffBodies(before: Buffer, after: Buffer): readonly DiffLine[] | null {
  const texts = [before, after].map(bytes => {
    const text = bytes.toString('utf8')
    return Buffer.from(text).equals(bytes) ? pretty(text) : null
  })
  return texts[0] == null || texts[1] == null ? null : diffLines(texts[0], texts[1])
}

/** JSON on several lines, for the diff only. The stored bytes are those given. */
function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
