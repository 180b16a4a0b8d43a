import { basename, dirname } from 'node:path'
import { OncewardError } from '../../errors.ts'
import type { Source } from '../../ports/source.ts'
import { type PullEnvironment, PullSource } from '../log/pull-source.ts'
import type { FileDeclaration } from './declaration.ts'
import { FileReader } from './file-reader.ts'

/** How a source reads files. */
export interface FileSourceOptions {
  readonly env: PullEnvironment
}

/** Reads what `file(...)` declares. */
export function createFileSource(declaration: FileDeclaration, { env }: FileSourceOptions): Source {
  const { pattern, until, pollMaxMs, standbyMs } = declaration
  if (basename(pattern) === '' || /[*?]/.test(dirname(pattern))) {
    throw new OncewardError(
      'configuration',
      `file("${pattern}"): name one folder, and in it one file; only the file name may have * and ?. Nothing was started.`,
    )
  }
  return new PullSource(() => new FileReader(declaration, env.clock), {
    name: `files ${pattern}`,
    env,
    ...(until !== undefined && { until }),
    ...(pollMaxMs !== undefined && { pollMaxMs }),
    ...(standbyMs !== undefined && { standbyMs }),
  })
}
