/** One line of the difference between two bodies. */
export interface DiffLine {
  readonly sign: ' ' | '-' | '+'
  readonly text: string
}

const linesMax = 2_000

/**
 * Line diff of two texts by their longest common subsequence; null for more than 2,000 lines.
 */
export function diffLines(before: string, after: string): readonly DiffLine[] | null {
  const [a, b] = [before.split('\n'), after.split('\n')]
  if (a.length > linesMax || b.length > linesMax) return null
  const width = b.length + 1
  const common = new Uint32Array((a.length + 1) * width)
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const below = common[(i + 1) * width + j]!
      const right = common[i * width + j + 1]!
      common[i * width + j] = a[i] === b[j] ? common[(i + 1) * width + j + 1]! + 1 : Math.max(below, right)
    }
  }
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ sign: ' ', text: a[i++]! })
      j++
    } else if (i < a.length && (j === b.length || common[(i + 1) * width + j]! >= common[i * width + j + 1]!))
      lines.push({ sign: '-', text: a[i++]! })
    else lines.push({ sign: '+', text: b[j++]! })
  }
  return lines
}
