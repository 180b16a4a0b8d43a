import { resolve } from 'node:path'
import { OncewardError } from '../errors.ts'
import { classResults } from './class-results.ts'
import { type Baseline, cleanRuns } from './clean-run.ts'
import { clause } from './diagnose.ts'
import { FailureList, setAside } from './failure-list.ts'
import { type Fault, type FaultClass, faultClasses, parseFault } from './fault.ts'
import type { FedMessage } from './feed.ts'
import { loadInvariants } from './invariants.ts'
import { type Judgement, judgeRun } from './judge-run.ts'
import { notStaged } from './not-staged.ts'
import { openBench } from './open-bench.ts'
import { type Plan, planFaults } from './plan-faults.ts'
import { readMessages } from './read-messages.ts'
import type { ClassResult, VerifyReport } from './report.ts'
import type { Bench } from './run-scenario.ts'
import { shrink } from './shrink.ts'
import { readTables } from './snapshot.ts'
import type { VerifyOptions } from './verify-options.ts'

const defaultBudgetMs = 120_000
/** The part of the budget that is kept to shrink failures. */
const shrinkShare = 0.25
const runMaxMs = 60_000
const connectionsEnded = 'on the given server, connections were ended instead'

/**
 * Runs a consumer under crashes, races and replays, and compares its tables and intents after each run with a
 * clean serial run. Everything happens in scratch databases and child processes.
 */
export async function verifyConsumer(options: VerifyOptions): Promise<VerifyReport> {
  const began = performance.now()
  if (options.fault !== undefined) parseFault(options.fault)
  const opened = await openBench({ ...options, file: resolve(options.file) })
  try {
    const { facts, messages, notes } = await readMessages({ ...options, file: resolve(options.file) }, opened)
    const bench: Bench = {
      ...opened,
      facts,
      file: resolve(options.file),
      policy: options.policy ?? null,
      seed: options.seed ?? 1,
      allowed: options.allow ?? [],
      runMaxMs,
      leftMs: () => (options.budgetMs ?? defaultBudgetMs) - (performance.now() - began),
      invariants: {
        ...options.invariants,
        ...(options.invariantsFile && (await loadInvariants(resolve(options.invariantsFile)))),
      },
      signal: options.signal,
    }
    return await new Verification(options, bench, messages, notes, began).run()
  } finally {
    await opened.close()
  }
}

class Verification {
  readonly #options: VerifyOptions
  readonly #bench: Bench
  readonly #messages: readonly FedMessage[]
  readonly #notes: string[]
  readonly #began: number
  readonly #budgetMs: number
  readonly #judged: Judgement[] = []

  constructor(
    options: VerifyOptions,
    bench: Bench,
    messages: readonly FedMessage[],
    notes: readonly string[],
    began: number,
  ) {
    this.#options = options
    this.#bench = bench
    this.#messages = messages
    this.#notes = [...notes]
    this.#began = began
    this.#budgetMs = options.budgetMs ?? defaultBudgetMs
  }

  async run(): Promise<VerifyReport> {
    const baseline = await cleanRuns(this.#bench, this.#messages)
    this.#noteSetAside(baseline)
    const failures = new FailureList(this.#options, this.#bench, baseline)
    const keys = await this.#keyColumns()
    if (!baseline.cut) failures.addWatched(this.#messages, keys)
    const plan = this.#plan(baseline)
    // A clean run that cannot finish has nothing to compare with.
    const planned = performance.now()
    if (baseline.trouble === null && !baseline.cut) await this.#runAll(plan.faults, baseline)
    if (baseline.trouble === null) this.#addNotStaged(failures, plan, baseline, planned)
    const failed = this.#judged.filter(({ verdict }) => verdict === 'failed')
    const classes = new Set(failed.map(({ fault }) => fault.class))
    for (const group of failures.groups(failed, classes)) {
      const isTime = () => this.#options.shrink !== false && this.#leftMs(0) > 0
      const smallest = await shrink(this.#bench, baseline, group[0]!, isTime)
      failures.addJudged(smallest, group.length - 1, classes)
    }
    return this.#report(plan, baseline, failures)
  }

  #addNotStaged(failures: FailureList, plan: Plan, { cut }: Baseline, planned: number): void {
    const missing = notStaged(plan, {
      judged: this.#judged,
      cleanCut: cut,
      startMs: planned - this.#began,
      faultsMs: performance.now() - planned,
      budgetMs: this.#budgetMs,
      share: 1 - shrinkShare,
    })
    if (missing !== null) failures.addNotStaged(missing)
  }

  /** A copy of the template shows which columns are keys. */
  async #keyColumns(): Promise<ReadonlySet<string>> {
    const database = await this.#bench.databases.copy()
    try {
      const tables = await readTables(database.pool)
      return new Set(tables.flatMap(({ shown, keys }) => keys.map(key => `${shown}.${key}`)))
    } finally {
      await database.drop()
    }
  }

  #plan(baseline: Baseline): Plan {
    const { fault, only, skip = [] } = this.#options
    if (fault !== undefined) return { faults: [parseFault(fault)], skipped: {} }
    const wanted = (Object.keys(faultClasses) as FaultClass[]).filter(
      kind => (only?.includes(kind) ?? true) && !skip.includes(kind),
    )
    return planFaults(this.#bench.facts, baseline.observed, this.#messages, {
      seed: this.#bench.seed,
      only: wanted,
    })
  }

  async #runAll(faults: readonly Fault[], baseline: Baseline): Promise<void> {
    const waiting = [...faults]
    const work = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        if (this.#leftMs(shrinkShare) <= 0) return
        this.#judged.push(await judgeRun(this.#bench, baseline, this.#messages, next))
        this.#progress(faults.length)
      }
    }
    await Promise.all(Array.from({ length: this.#options.jobs ?? 2 }, work))
  }

  #leftMs(kept: number): number {
    return this.#budgetMs * (1 - kept) - (performance.now() - this.#began)
  }

  #progress(of: number): void {
    const done = this.#judged.length
    const failed = this.#judged.filter(({ verdict }) => verdict === 'failed').length
    const spent = performance.now() - this.#began
    const needed = (spent / done) * (of - done)
    const secondsLeft = Math.max(0, Math.ceil(Math.min(needed, this.#leftMs(shrinkShare)) / 1_000))
    this.#options.onProgress?.({ done, of, failed, secondsLeft })
  }

  #noteSetAside({ snapshot }: Baseline): void {
    for (const { id, status, reason } of snapshot.outcomes)
      if (setAside.includes(status))
        this.#notes.push(
          `In the clean run message ${id || '(without id)'} ended ${status}: ${clause(reason)}.`,
        )
  }

  #report(plan: Plan, baseline: Baseline, failures: FailureList): VerifyReport {
    const { facts, seed } = this.#bench
    const restartNote = this.#bench.databases.restartsServer ? '' : connectionsEnded
    const staged = { judged: this.#judged, watchedCount: failures.watchedCount, restartNote }
    const classes = classResults(plan, staged)
    const sum = (pick: (one: ClassResult) => number) => classes.reduce((all, one) => all + pick(one), 0)
    const list = failures.list
    return {
      ok: list.length === 0,
      consumer: facts.name,
      survived: sum(one => one.survived),
      of: sum(one => one.of),
      classes,
      failures: list,
      warnings: failures.warnings,
      volatile: baseline.volatile,
      notes: this.#notes,
      messages: this.#messages.length,
      seed,
      seconds: Math.round((performance.now() - this.#began) / 100) / 10,
    }
  }
}

/** For tests: throws one error that lists what the consumer did not survive, and what was not staged. */
export function assertVerified(report: VerifyReport): void {
  if (report.ok) return
  const list = report.failures.map(({ what, fix, repeat }) => `  - ${what}\n    ${fix}\n    ${repeat}`)
  throw new OncewardError(
    'usage',
    `Consumer ${report.consumer} survived ${report.survived} of ${report.of}:\n${list.join('\n')}`,
    { details: { failures: report.failures } },
  )
}
