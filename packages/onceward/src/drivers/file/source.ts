import { basename, dirname } from 'node:path'
import { OncewardError } from '../../errors.ts'
import type { Source } from '../../ports/source.ts'
import { PullSource, type PullWorld } from '../log/pull-source.ts'
import type { FileDeclaration } from './declaration.ts'
import { FileReader } from './file-reader.ts'

export interface FileSourceOptions {
  readonly world: PullWorld
}

/** Reads what `file(...)` declares. */
export function createFileSource(declaration: FileDeclaration, { world }: FileSourceOptions): Source {
  const { pattern, until, pollMaxMs, standbyMs } = declaration
  if (basename(pattern) === '' || /[*?]/.test(dirname(pattern))) {
    throw new OncewardError(
      'configuration',
      `file("${pattern}"): name one folder, and a file in it with * and ? at most. Nothing was started.`,
    )
  }
  return new PullSource(() => new FileReader(declaration, world.clock), {
    name: `files ${pattern}`,
    world,
    ...(until !== undefined && { until }),
    ...(pollMaxMs !== undefined && { pollMaxMs }),
    ...(standbyMs !== undefined && { standbyMs }),
  })
}
