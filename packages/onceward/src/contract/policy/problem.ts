/**
 * One problem and its place; lines and columns start at 1. It never contains a value, because a value may be
 * a secret.
 */
export interface PolicyProblem {
  readonly file: string
  readonly line: number
  readonly column: number
  /** The key, as `consumers.orders.failure.mode`; empty for the file as a whole. */
  readonly key: string
  readonly text: string
}

export interface FilePlace {
  readonly line: number
  readonly column: number
}

/** Records one problem. */
export type Refuse = (at: FilePlace, path: readonly string[], text: string) => void

export function refusing(file: string, problems: PolicyProblem[]): Refuse {
  return ({ line, column }, path, text) =>
    void problems.push({ file, line, column, key: path.map(shownName).join('.'), text })
}

/** A name from the file, shortened, and without characters that a terminal would interpret. */
export function shownName(name: string): string {
  const clean = name.toWellFormed().replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?')
  return clean.length > 60 ? `${clean.slice(0, 60)}…` : clean
}

const shownMax = 200

/** One line per problem, in the order of the file, in the form that editors and terminals link. */
export function problemLines(problems: readonly PolicyProblem[]): string {
  const ordered = problems.toSorted(
    (a, b) => a.file.localeCompare(b.file) || a.line - b.line || a.column - b.column,
  )
  const lines = ordered
    .slice(0, shownMax)
    .map(({ file, line, column, key, text }) => `  ${file}:${line}:${column}: ${key ? `${key} ` : ''}${text}`)
  const more = problems.length - shownMax
  return [...lines, ...(more > 0 ? [`  and ${more} more`] : [])].join('\n')
}
