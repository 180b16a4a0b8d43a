import type { Baseline } from './clean-run.ts'
import {
  clause,
  type Diagnosis,
  diagnose,
  diagnoseIdentity,
  diagnoseKey,
  diagnoseLeak,
  leakKinds,
  nothingApplied,
  sharedIdentity,
} from './diagnose.ts'
import { type FaultClass, faultName } from './fault.ts'
import type { FedMessage } from './feed.ts'
import type { Judgement } from './judge-run.ts'
import type { NotStaged } from './not-staged.ts'
import { repeatCommand } from './repeat-command.ts'
import type { VerifyFailure } from './report.ts'
import type { Bench } from './run-scenario.ts'
import type { VerifyOptions } from './verify-options.ts'
import { warningsOf } from './warnings.ts'

/** States of messages that wait for people, or for nothing. */
export const setAside: readonly string[] = ['parked', 'dead', 'quarantined', 'waiting']

/** Collects failures; one entry for each diagnosis. */
export class FailureList {
  readonly #options: VerifyOptions
  readonly #bench: Bench
  readonly #baseline: Baseline
  readonly #found = new Map<string, VerifyFailure>()
  /** Worth knowing, and no failure. */
  readonly warnings: Diagnosis[] = []
  watchedCount = 0

  constructor(options: VerifyOptions, bench: Bench, baseline: Baseline) {
    this.#options = options
    this.#bench = bench
    this.#baseline = baseline
  }

  get list(): readonly VerifyFailure[] {
    return [...this.#found.values()]
  }

  /** What clean runs showed: leaks, identities and keys that depend on more than the message. */
  addWatched(messages: readonly FedMessage[], keyColumns: ReadonlySet<string>): void {
    const { leaks, volatile, trouble } = this.#baseline
    if (trouble !== null)
      this.#addClean('clean run', {
        what: `The consumer does not finish its messages without any fault: ${clause(trouble)}.`,
        fix: 'Run it once with "onceward run" and its own tables; then verify it again.',
      })
    for (const leak of leaks) if (leakKinds.includes(leak.kind)) this.#addClean('leak', diagnoseLeak(leak))
    for (const unstable of new Set(messages.flatMap(({ described }) => described.unstable)))
      this.#addClean('identity', diagnoseIdentity(unstable))
    for (const one of volatile)
      if (one.column === 'calls.key' || one.column === 'publications.key')
        this.#addClean('key', diagnoseKey(one))
    this.warnings.push(...warningsOf(this.#baseline, keyColumns))
    this.#addOutcomes()
    this.watchedCount = this.#found.size
  }

  /** What the budget left out. */
  addNotStaged({ what, fix, budget }: NotStaged): void {
    this.#found.set(what, {
      what,
      fix,
      class: 'not staged',
      fault: null,
      lines: [],
      seed: this.#bench.seed,
      differences: [],
      repeat: repeatCommand(this.#options, this.#bench.seed, { budget }),
      alike: 0,
    })
  }

  /** Messages that the clean run itself set aside. */
  #addOutcomes(): void {
    const { snapshot, leaks, trouble } = this.#baseline
    const conflict = snapshot.outcomes.find(({ code }) => code === 'conflict')
    // Messages that a database holds may be there because they were conflicts.
    if (conflict !== undefined && this.#options.capturedFrom === undefined)
      this.#addClean('identity', sharedIdentity(conflict.id))
    const [first] = snapshot.outcomes.filter(({ status }) => setAside.includes(status))
    const isWatched = leaks.some(({ kind }) => leakKinds.includes(kind))
    if (first === undefined || trouble !== null || isWatched) return
    if (snapshot.outcomes.some(({ status }) => !setAside.includes(status))) return
    const ended = `message ${first.id} ended ${first.status}, ${first.reason}`
    this.#addClean('clean run', nothingApplied(ended))
  }

  /** Failures with the same diagnosis, the ones with the simplest fault first. */
  groups(failed: readonly Judgement[], classes: ReadonlySet<FaultClass>): readonly Judgement[][] {
    return [...Map.groupBy(failed, one => this.#diagnose(one, classes).what).values()]
  }

  addJudged(judgement: Judgement, alike: number, classes: ReadonlySet<FaultClass>): void {
    const { fault, messages, differences, broken } = judgement
    const diagnosis = this.#diagnose(judgement, classes)
    const rows = broken.map(({ name, rows: extra }) => ({ where: `invariant ${name}`, missing: [], extra }))
    const lines = messages.map(({ line }) => line)
    const known = this.#found.get(diagnosis.what)
    this.#found.set(diagnosis.what, {
      ...diagnosis,
      class: differences.length === 0 && broken.length > 0 ? 'invariant' : fault.class,
      fault: faultName(fault),
      lines,
      seed: this.#bench.seed,
      differences: [...differences, ...rows],
      repeat: repeatCommand(this.#options, this.#bench.seed, { fault: faultName(fault), lines }),
      alike: alike + (known === undefined ? 0 : known.alike + 1),
    })
  }

  #diagnose(judgement: Judgement, failed: ReadonlySet<FaultClass>): Diagnosis {
    const { fault, differences, trouble, broken } = judgement
    const [first] = broken
    if (first !== undefined && differences.length === 0)
      return {
        what: `The invariant ${first.name} does not hold after this fault, although the tables equal those of the clean run.`,
        fix: 'Check the invariant against the clean run, or the handler for rows that only the invariant sees.',
      }
    const { leaks } = this.#baseline
    const contract = this.#bench.facts
    return diagnose({ class: fault.class, contract, leaks, differences, trouble, failed })
  }

  #addClean(kind: VerifyFailure['class'], diagnosis: Diagnosis): void {
    this.#found.set(diagnosis.what, {
      ...diagnosis,
      class: kind,
      fault: null,
      lines: [],
      seed: this.#bench.seed,
      differences: [],
      repeat: repeatCommand(this.#options, this.#bench.seed, null),
      alike: 0,
    })
  }
}
