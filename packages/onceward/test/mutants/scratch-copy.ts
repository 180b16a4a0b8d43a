import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { Mutant } from './mutant.ts'

const left: ReadonlySet<string> = new Set(['node_modules', '.git', 'dist', '.onceward', '.stryker-tmp'])

/** A copy of the sources and tests, in which a mutant is applied and taken back. */
export class ScratchCopy {
  readonly root: string

  constructor(sources: string) {
    this.root = mkdtempSync(join(tmpdir(), 'onceward-mutants-'))
    cpSync(sources, this.root, { recursive: true, filter: path => !left.has(basename(path)) })
    symlinkSync(join(sources, 'node_modules'), join(this.root, 'node_modules'))
  }

  /** Runs the work with the mutant applied. */
  async with<T>(mutant: Mutant, work: () => Promise<T>): Promise<T> {
    const path = join(this.root, 'packages/onceward/src', mutant.file)
    const original = readFileSync(path, 'utf8')
    writeFileSync(path, mutated(original, mutant))
    try {
      return await work()
    } finally {
      writeFileSync(path, original)
    }
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true })
  }
}

/** The source with the mutant. Throws unless its text occurs exactly once. */
export function mutated(source: string, { name, file, text, replacement }: Mutant): string {
  const parts = source.split(text)
  if (parts.length !== 2)
    throw new Error(`Mutant "${name}": its text occurs ${parts.length - 1} times in ${file}, not once.`)
  return parts.join(replacement)
}
