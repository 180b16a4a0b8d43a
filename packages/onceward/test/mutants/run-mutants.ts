import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Outcome } from '../../../../scripts/test/outcome.ts'
import { runFile } from '../../../../scripts/test/run-file.ts'
import type { Mutant } from './mutant.ts'
import { mutated, ScratchCopy } from './scratch-copy.ts'

export interface MutantRun {
  readonly root: string
  readonly env: NodeJS.ProcessEnv
  /** Copies of the sources that are tested at the same time. */
  readonly jobs: number
  readonly timeoutMs: number
  readonly log: (line: string) => void
}

export interface MutantReport {
  readonly mutants: number
  readonly caught: number
  readonly survivors: readonly Survivor[]
  readonly ok: boolean
}

export interface Survivor {
  readonly name: string
  readonly why: string
}

/** Errors of code that does not even run. Such a mutant proves nothing about the test. */
const broken = /SyntaxError|ERR_INVALID_TYPESCRIPT_SYNTAX|ERR_MODULE_NOT_FOUND|is not defined$/m

/**
 * Applies one mutant after another, each time runs only its test, and expects that test to fail. Without
 * mutants each test file passes: this is checked once per file.
 */
export async function runMutants(mutants: readonly Mutant[], run: MutantRun): Promise<MutantReport> {
  const [misplaced] = misplacedMutants(mutants, run.root)
  if (misplaced !== undefined) throw new Error(misplaced)
  const survivors: Survivor[] = []
  const queue = [...Map.groupBy(mutants, ({ test }) => test).values()]
  const worker = async () => {
    const copy = new ScratchCopy(run.root)
    try {
      for (let group = queue.shift(); group !== undefined; group = queue.shift())
        survivors.push(...(await runGroup(group, copy, run)))
    } finally {
      copy.remove()
    }
  }
  await Promise.all(Array.from({ length: Math.min(run.jobs, queue.length) }, worker))
  const caught = mutants.length - survivors.length
  return { mutants: mutants.length, caught, survivors, ok: survivors.length === 0 }
}

/** Why a mutant cannot be applied: its text is not in its file exactly once. */
export function misplacedMutants(mutants: readonly Mutant[], root: string): string[] {
  return mutants.flatMap(mutant => {
    try {
      mutated(readFileSync(join(root, 'packages/onceward/src', mutant.file), 'utf8'), mutant)
      return []
    } catch (error) {
      return (error as Error).message
    }
  })
}

/** The mutants of one test file. */
async function runGroup(
  group: readonly Mutant[],
  copy: ScratchCopy,
  run: MutantRun,
): Promise<readonly Survivor[]> {
  const survivors: Survivor[] = []
  const titles = [...new Set(group.map(({ title }) => title))]
  const clean = await runTests(group[0]!.test, titles, copy, run)
  const red = clean.failed.map(({ name }) => name)
  const absent = titles.filter(title => !clean.passed.some(({ name }) => isTitle(name, title)))
  for (const mutant of group) {
    const why =
      red.length > 0
        ? `its test file fails without it: ${red.join(', ')}`
        : absent.includes(mutant.title)
          ? `no such test ran: ${mutant.title}`
          : await copy.with(mutant, () => survives(mutant, copy, run))
    run.log(`${why === null ? '✔' : '✖'} ${mutant.name}${why === null ? '' : `: ${why}`}`)
    if (why !== null) survivors.push({ name: mutant.name, why })
  }
  return survivors
}

/** Why the mutant is not caught; null when its test failed because of it. */
async function survives(mutant: Mutant, copy: ScratchCopy, run: MutantRun): Promise<string | null> {
  const { failed, passed } = await runTests(mutant.test, [mutant.title], copy, run)
  const unrunnable = failed.find(({ error }) => broken.test(errorTextOf(error)))
  if (unrunnable !== undefined) return `the code does not run: ${errorTextOf(unrunnable.error).slice(0, 300)}`
  if (failed.some(({ name }) => isTitle(name, mutant.title))) return null
  if (failed.length > 0) return `only other tests failed: ${failed.map(({ name }) => name).join(', ')}`
  return passed.length > 0 ? 'its test passed' : 'its test did not run'
}

async function runTests(test: string, titles: readonly string[], copy: ScratchCopy, run: MutantRun) {
  const outcome = new Outcome()
  const { env, timeoutMs } = run
  const file = `packages/onceward/test/${test}.test.ts`
  await runFile(outcome, file, { root: copy.root, env, timeoutMs, titles })
  return outcome
}

function isTitle(name: string, title: string): boolean {
  return name === title || name.endsWith(` › ${title}`)
}

function errorTextOf(error: unknown): string {
  const { cause } = error as { cause?: unknown }
  return String(cause ?? error)
}
