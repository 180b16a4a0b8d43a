/**
 * One thing that is wrong, and where: lines and columns count from 1. Values are never part of it: one of
 * them may be a secret.
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

/** Takes down one problem. */
export type Refuse = (at: FilePlace, path: readonly string[], text: string) => void

export function refusing(file: string, problems: PolicyProblem[]): Refuse {
  return ({ line, column }, path, text) =>
    void problems.push({ file, line, column, key: path.map(shownName).join('.'), text })
}

/** A name from the file, short enough to be read and without what a terminal would act on. */
export function shownName(name: string): string {
  const clean = name.toWellFormed().replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?')
  return clean.length > 60 ? `${clean.slice(0, 60)}…` : clean
}

const shownMax = 200

/** Every problem on a line of its own, in the order of the file, as editors and terminals link them. */
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
