import type { SourceDeclaration } from '../../contract/contract.ts'
import { assertKnownOptions } from '../../ports/known-options.ts'

/** Options of `file(...)`. */
export interface FileOptions {
  /**
   * Default `forever`: growing files are followed. `end`: the consumer stops when every line is applied, a
   * last line without a line feed included.
   */
  readonly until?: 'forever' | 'end'
  /** Longest line that is delivered whole. A longer one is quarantined with its beginning. Default 1 MiB. */
  readonly lineBytesMax?: number
  /**
   * How long a file that was renamed or removed must stay unchanged before its successor is read. Default 2
   * s, because writers need a moment to follow.
   */
  readonly rotationMs?: number
  /** Longest pause between two looks. Default 1 s. */
  readonly pollMaxMs?: number
  /** How long a process waits for its turn after it found another one reading. Default 60 s. */
  readonly standbyMs?: number
}

/** A file or folder as a source. */
export interface FileDeclaration extends SourceDeclaration, FileOptions {
  readonly kind: 'file'
  readonly pattern: string
}

const optionNames: readonly (keyof FileOptions)[] = [
  'until',
  'lineBytesMax',
  'rotationMs',
  'pollMaxMs',
  'standbyMs',
]

/**
 * Files of JSON lines: one path, or a folder and a name with `*` and `?` (`events/*.jsonl`). Each file is a
 * partition, a line is a record, and its position is the byte it begins at. Rotate to names the pattern does
 * not match, next to the file and beginning with its name (`app.jsonl.1`).
 */
export function file(pattern: string, options: FileOptions = {}): FileDeclaration {
  assertKnownOptions(`File source ${String(pattern)}`, options, optionNames)
  return { kind: 'file', pattern, ...options }
}
