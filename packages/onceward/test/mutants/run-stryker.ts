import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Decider, deciders, scoreMin } from './deciders.ts'
import type { MutantReport, Survivor } from './run-mutants.ts'
import { ScratchCopy } from './scratch-copy.ts'

/** The parts of Stryker's report that are read here. */
interface StrykerReport {
  readonly files: Readonly<Record<string, { readonly mutants: readonly StrykerMutant[] }>>
}
interface StrykerMutant {
  readonly status:
    | 'Killed'
    | 'Timeout'
    | 'Survived'
    | 'NoCoverage'
    | 'Ignored'
    | 'CompileError'
    | 'RuntimeError'
  readonly mutatorName: string
  readonly replacement?: string
  readonly location: { readonly start: { readonly line: number } }
}

export interface DecidersRun {
  readonly root: string
  readonly jobs: number
  /** Words that select deciders by file; none selects all. */
  readonly words: readonly string[]
  readonly log: (line: string) => void
}

/**
 * Runs Stryker on one decider after another, in a copy of the sources, with the test file of each. Its runner
 * starts a command per mutant, because the runners that measure coverage need another test framework.
 */
export async function runStryker({ root, jobs, words, log }: DecidersRun): Promise<MutantReport> {
  const copy = new ScratchCopy(root)
  const folder = mkdtempSync(join(tmpdir(), 'onceward-stryker-'))
  const survivors: Survivor[] = []
  const [all, caught] = [[] as number[], [] as number[]]
  try {
    for (const decider of deciders) {
      if (words.length > 0 && !words.some(word => decider.file.includes(word))) continue
      const mutants = await strykerOf(decider, copy.root, folder, jobs)
      const missed = mutants.filter(({ status }) => status === 'Survived' || status === 'NoCoverage')
      all.push(mutants.length)
      caught.push(mutants.length - missed.length)
      survivors.push(...missed.map(mutant => survivorOf(decider, mutant)))
      log(`${decider.file}: ${caught.at(-1)} of ${all.at(-1)} mutants caught`)
    }
  } finally {
    copy.remove()
    rmSync(folder, { recursive: true, force: true })
  }
  const [mutants, found] = [sum(all), sum(caught)]
  return { mutants, caught: found, survivors, ok: found * 100 >= scoreMin * mutants }
}

const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0)

async function strykerOf(
  { file, tests }: Decider,
  cwd: string,
  folder: string,
  jobs: number,
): Promise<readonly StrykerMutant[]> {
  const report = join(folder, 'report.json')
  const config = join(cwd, 'stryker.config.json')
  const run = `${process.execPath} --conditions=@onceward/source --disable-warning=ExperimentalWarning`
  writeFileSync(
    config,
    JSON.stringify({
      testRunner: 'command',
      commandRunner: {
        command: tests.map(test => `${run} packages/onceward/test/${test}.test.ts`).join(' && '),
      },
      mutate: [`packages/onceward/src/${file}`],
      inPlace: true,
      reporters: ['json'],
      jsonReporter: { fileName: report },
      concurrency: jobs,
      // Stryker reads it with the compiler's programming interface, which TypeScript 7 does not have.
      tsconfigFile: 'none.json',
      logLevel: 'error',
    }),
  )
  const stryker = join(cwd, 'node_modules/@stryker-mutator/core/bin/stryker.js')
  const child = spawn(process.execPath, [stryker, 'run', config], {
    cwd,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`Stryker ended with code ${code} on ${file}.`)
  const { files } = JSON.parse(readFileSync(report, 'utf8')) as StrykerReport
  const counted = (mutant: StrykerMutant) =>
    !['Ignored', 'CompileError', 'RuntimeError'].includes(mutant.status)
  return Object.values(files).flatMap(({ mutants }) => mutants.filter(counted))
}

function survivorOf({ file }: Decider, { mutatorName, replacement = '', location }: StrykerMutant): Survivor {
  const name = `${file}:${location.start.line} ${mutatorName}`
  return { name, why: `no test of it fails with ${replacement.replaceAll(/\s+/g, ' ').slice(0, 80)}` }
}
